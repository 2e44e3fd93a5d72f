"""The light tier: a real API server on etcd, plain processes on the loopback interface. No nodes, no root.

Controllers (garbage collection, namespaces, Deployments) and the scheduler run on request.
"""

import csv
import json
import secrets
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.cluster.audit import AUDIT_POLICY, Request, read_requests
from tools.cluster.cluster import Cluster
from tools.cluster.errors import ClusterError
from tools.cluster.ports import free_ports
from tools.cluster.process import run
from tools.companion import Companion
from tools.scratch import Scratch
from tools.startable import Startable

ADMIN = "admin"
_API_SERVER = "kube-apiserver"
_HOST = "127.0.0.1"
_START_SECONDS = 120
_ATTEMPTS = 3
_FAST = ("--kube-api-qps=500", "--kube-api-burst=1000", "--leader-elect=false", "--secure-port=0")


class LightCluster(Startable):
    """An API server. `with LightCluster(binaries) as api:` starts it and removes it with all it holds.

    `users` are names with their groups, who come with tokens; a service account gets one from `service_account`.
    """

    def __init__(self, binaries: Path, *, users: Mapping[str, Sequence[str]] | None = None) -> None:
        self._binaries = binaries
        self._users = {ADMIN: ("system:masters",), **(users or {})}
        self._tokens = {name: secrets.token_hex(16) for name in self._users}
        self._scratch = Scratch("streamapp-light-")
        self._folder = self._scratch.folder
        self._processes: dict[str, Companion] = {}
        self._api_server: Sequence[str] = ()
        self.server = ""

    @property
    def cluster(self) -> Cluster:
        """The cluster as its administrator sees it."""
        return self.seen_by(ADMIN)

    def seen_by(self, user: str) -> Cluster:
        """Return the cluster as a user sees it."""
        kubeconfig = self._folder / f"{user}.kubeconfig"
        return Cluster(
            name="light", kubeconfig=kubeconfig, programs=self._binaries, api_cache=self._folder / "api-cache"
        )

    def seen_by_service_account(self, namespace: str, name: str, *, pod: str = "") -> Cluster:
        """Return the cluster as a service account sees it, or a pod with its token; account and pod must exist."""
        bound = ("--bound-object-kind=Pod", f"--bound-object-name={pod}") if pod else ()
        token = self.cluster.kubectl("create", "token", name, "--namespace", namespace, "--duration=24h", *bound)
        user = f"{namespace}.{name}.{pod}"
        self._write_kubeconfig(user, token.strip())
        return self.seen_by(user)

    def start_controllers(self) -> None:
        """Start the controllers of Kubernetes, garbage collection among them, if they don't run yet.

        Nodes are only on paper and send no signs of life, so nobody waits for any.
        """
        chosen = "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"
        keys = f"--service-account-private-key-file={self._folder / 'sa.key'}"
        self._start_client("kube-controller-manager", chosen, keys)

    @contextmanager
    def scheduler(self) -> Iterator[None]:
        """Have Kubernetes' scheduler assign pods to nodes meanwhile."""
        self._start_client("kube-scheduler")
        try:
            yield
        finally:
            self._processes.pop("kube-scheduler").kill()

    @contextmanager
    def api_server_suspended(self) -> Iterator[None]:
        """Have the API server accept connections and answer nobody meanwhile."""
        with self._processes[_API_SERVER].paused():
            yield

    @contextmanager
    def api_server_killed(self) -> Iterator[None]:
        """Have connections to the API server refused meanwhile; etcd keeps what there is."""
        self._processes[_API_SERVER].kill()
        try:
            yield
        finally:
            self._run(_API_SERVER, *self._api_server)
            self._wait_until_ready()

    def requests(self) -> list[Request]:
        """Return all requests that were answered so far, the oldest first."""
        return read_requests(self._folder / "audit.log")

    def close(self) -> None:
        """End all processes and remove what they hold."""
        for process in reversed(self._processes.values()):
            process.kill()
        self._processes.clear()
        self._scratch.close()

    def _start(self) -> None:
        """Start on free ports; another process may take one before ours do, so try again then."""
        self._write_keys()
        for attempt in range(_ATTEMPTS):
            try:
                self._start_at(*free_ports(3))
            except ClusterError:
                if attempt == _ATTEMPTS - 1:
                    raise
                for process in self._processes.values():
                    process.kill()
                self._processes.clear()
            else:
                return

    def _start_at(self, port: int, etcd: int, peer: int) -> None:
        self.server = f"https://{_HOST}:{port}"
        store = self._folder / "etcd"
        shutil.rmtree(store, ignore_errors=True)
        clients, peers = f"http://{_HOST}:{etcd}", f"http://{_HOST}:{peer}"
        addresses = [f"--listen-client-urls={clients}", f"--advertise-client-urls={clients}"]
        addresses += [f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}"]
        addresses += [f"--initial-cluster=default={peers}", f"--data-dir={store}"]
        self._run("etcd", *addresses, "--unsafe-no-fsync", "--log-level=error")
        self._api_server = [f"--etcd-servers={clients}", f"--secure-port={port}", *self._settings()]
        self._run(_API_SERVER, *self._api_server)
        self._wait_until_ready()
        for user, token in self._tokens.items():
            self._write_kubeconfig(user, token)

    def _settings(self) -> list[str]:
        key = self._folder / "sa.key"
        return [
            f"--bind-address={_HOST}",
            f"--advertise-address={_HOST}",
            f"--cert-dir={self._folder}",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            "--allow-privileged=true",
            "--disable-admission-plugins=ServiceAccount",  # its accounts are made by a controller
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--audit-policy-file={self._folder / 'audit.yaml'}",
            f"--audit-log-path={self._folder / 'audit.log'}",
        ]

    def _write_keys(self) -> None:
        if not shutil.which("openssl"):
            raise ClusterError("the API server signs with a key that `openssl` makes: install openssl")
        run(["openssl", "genrsa", "-out", self._folder / "sa.key", "2048"])
        with (self._folder / "tokens.csv").open("w") as file:
            for name, groups in self._users.items():
                csv.writer(file).writerow([self._tokens[name], name, name, *([",".join(groups)] if groups else [])])
        (self._folder / "audit.yaml").write_text(AUDIT_POLICY)

    def _write_kubeconfig(self, user: str, token: str) -> None:
        name = "light"
        cluster = {"server": self.server, "certificate-authority": str(self._folder / "apiserver.crt")}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
            "current-context": name,
        }
        (self._folder / f"{user}.kubeconfig").write_text(json.dumps(document))

    def _start_client(self, program: str, *arguments: str) -> None:
        if program not in self._processes:
            kubeconfig = self.cluster.kubeconfig
            access = [f"--{kind}kubeconfig={kubeconfig}" for kind in ("", "authentication-", "authorization-")]
            self._run(program, *access, *_FAST, *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        self._processes[program] = Companion(command, self._folder / f"{program}.log")

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._ready():
            ended = next((name for name, process in self._processes.items() if process.ended), None)
            if ended or time.monotonic() > deadline:
                name = ended or _API_SERVER
                log = self._processes[name].log.read_text(errors="replace")
                raise ClusterError(f"{name} did not start:\n{log[-4000:]}")
            time.sleep(0.05)

    def _ready(self) -> bool:
        certificate = self._folder / "apiserver.crt"
        if not certificate.exists():
            return False
        header = {"Authorization": f"Bearer {self._tokens[ADMIN]}"}
        request = urllib.request.Request(f"{self.server}/readyz", headers=header)  # noqa: S310 - an address of ours
        try:
            context = ssl.create_default_context(cafile=str(certificate))
            with urllib.request.urlopen(request, timeout=5, context=context) as answer:  # noqa: S310 - as above
                return bool(answer.status == 200)  # noqa: PLR2004 - OK
        except (OSError, urllib.error.URLError):
            return False
