#!/bin/bash
# Runs in the tree of a node image, as its root: sets up systemd, and has containerd unpack the archives given, so that
# nodes start with their images.
set -euo pipefail

# What a container must not start: the list is that of kind's own node image.
rm -f /lib/systemd/system/{multi-user,local-fs,basic,sockets}.target.wants/{*udev*,*initctl*} \
  /lib/systemd/system/{multi-user,local-fs}.target.wants/* /etc/systemd/system/*.wants/* \
  /lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service
echo "ReadKMsg=no" >> /etc/systemd/journald.conf
systemctl enable --quiet kubelet.service containerd.service undo-mount-hacks.service
systemctl mask --quiet systemd-binfmt.service
ln -sf "$(command -v systemd || echo /lib/systemd/systemd)" /sbin/init
mkdir -p /etc/kubernetes/manifests

mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
containerd >/tmp/log 2>&1 &
trap 'kill $! && wait' EXIT
for _ in {1..100}; do
  ctr version >/dev/null 2>&1 && break
  sleep 0.1
done
ctr version >/dev/null || { cat /tmp/log; exit 1; }
for archive in "$@"; do
  ctr --namespace k8s.io images import "$archive" >/dev/null
done

# Unpacked layers need their archives no more: every blob that is no JSON document goes.
for blob in /var/lib/containerd/io.containerd.content.v1.content/blobs/sha256/*; do
  [[ $(head -c1 "$blob") == "{" ]] || ctr --namespace k8s.io content rm "sha256:${blob##*/}" >/dev/null
done
ctr --namespace k8s.io leases create --id collect >/dev/null
ctr --namespace k8s.io leases delete --sync collect >/dev/null
kill $! && wait || true
trap - EXIT

# Each node's /var is a copy of the image's, so the layers move out of it: one copy is shared by all nodes.
mkdir -p /kind/snapshots
for folder in /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/*; do
  mv "$folder/fs" "/kind/snapshots/${folder##*/}"
  ln -s "/kind/snapshots/${folder##*/}" "$folder/fs"
done
ln /kind/snapshots/*/usr/local/bin/kubebox /usr/bin/kubebox
for program in kubeadm kubectl kubelet; do
  ln -s kubebox "/usr/bin/$program"
done
