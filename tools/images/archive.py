"""Container images as OCI archives, written without a daemon.

A layer is an uncompressed tar: its digest as a blob is then its diff id, and a node unpacks it as fast as it can write.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A layer's tar file, with its digest (`sha256:...`) and its size in bytes."""

    tar: Path
    digest: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image: its layers from below, and how its containers run."""

    name: str
    layers: tuple[Layer, ...]
    labels: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    user: str = ""
    folder: str = "/"
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The bytes of its layers."""
        return sum(layer.size for layer in self.layers)


def write_archive(archive: Path, images: Sequence[Image], *, without: Collection[Layer] = ()) -> None:
    """Write images to one archive, each layer once.

    The layers of `without` are named but not written: containerd takes such an archive if it has unpacked them before.
    A complete archive also has the list that docker and podman read, who take several images in no other form.
    """
    index: dict[str, Any] = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": []}
    listed: list[dict[str, Any]] = []
    written = {layer.digest for layer in without}
    with tarfile.open(archive, "w") as tar:
        _add(tar, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        for image in images:
            for layer in image.layers:
                if layer.digest not in written:
                    written.add(layer.digest)
                    tar.add(layer.tar, _blob(layer.digest), filter=_anonymous)
            config, manifest = _documents(image)
            for document in (config, manifest):
                _add(tar, _blob(_digest(document)), document)
            names = {"io.containerd.image.name": image.name, "org.opencontainers.image.ref.name": image.name}
            index["manifests"].append(_descriptor(_MANIFEST, manifest) | {"annotations": names})
            layers = [_blob(layer.digest) for layer in image.layers]
            listed.append({"Config": _blob(_digest(config)), "RepoTags": [image.name], "Layers": layers})
        _add(tar, "index.json", _json(index))
        if not without:
            _add(tar, "manifest.json", _json(listed))


def _documents(image: Image) -> tuple[bytes, bytes]:
    """Write an image's configuration and manifest."""
    running = {
        "User": image.user,
        "Env": [f"{name}={value}" for name, value in image.environment.items()],
        "Entrypoint": list(image.entrypoint),
        "Cmd": list(image.command),
        "WorkingDir": image.folder,
        "Labels": image.labels,
    }
    config = _json(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {name: value for name, value in running.items() if value},
            "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in image.layers]},
            "history": [{"created_by": "make images"} for _ in image.layers],  # podman builds on no image without
        }
    )
    layers = [{"mediaType": _LAYER, "digest": layer.digest, "size": layer.size} for layer in image.layers]
    manifest = {"schemaVersion": 2, "mediaType": _MANIFEST, "config": _descriptor(_CONFIG, config), "layers": layers}
    return config, _json(manifest)


def _descriptor(media_type: str, document: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(document), "size": len(document)}


def _digest(document: bytes) -> str:
    return f"sha256:{hashlib.sha256(document).hexdigest()}"


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = 0o644
    tar.addfile(entry, io.BytesIO(data))


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime, entry.mode = 0, 0o644
    return entry
