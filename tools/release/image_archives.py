"""Reads the files of images from their archive, as `docker save` and `make images` write it."""

import hashlib
import json
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

_Facts = TypeVar("_Facts")
_GONE, _ALL_GONE = ".wh.", ".wh..wh..opq"
"""How a layer says that a file of those below is gone, or all of a folder."""
_Layer = list[tuple[str, _Facts | None]]
"""The facts of files in the order of the layer; None: the file, or the folder, is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContent(Generic[_Facts]):
    """An image with what was learned of its files, by path. `digest` is that of its configuration (`sha256:...`)."""

    name: str
    digest: str
    labels: dict[str, str]
    files: dict[str, _Facts]


def read_images(
    archive: Path, wanted: Callable[[str], bool], learn: Callable[[str, bytes], _Facts]
) -> Iterator[ImageContent[_Facts]]:
    """Yield the images of an archive that has all their layers, with the facts that `learn` finds in wanted files."""
    known: dict[str, _Layer[_Facts]] = {}
    with tarfile.open(archive) as tar:
        for entry in json.loads(_read(tar, "manifest.json")):
            files: dict[str, _Facts] = {}
            for name in entry["Layers"]:
                if name not in known:
                    known[name] = list(_read_layer(tar, name, wanted, learn))
                _apply(known[name], files)
            configuration = _read(tar, entry["Config"])
            running: dict[str, Any] = json.loads(configuration).get("config") or {}
            yield ImageContent(
                name=entry["RepoTags"][0],
                digest=f"sha256:{hashlib.sha256(configuration).hexdigest()}",
                labels=running.get("Labels") or {},
                files=files,
            )


def _read_layer(
    tar: tarfile.TarFile, name: str, wanted: Callable[[str], bool], learn: Callable[[str, bytes], _Facts]
) -> Iterator[tuple[str, _Facts | None]]:
    with tarfile.open(fileobj=tar.extractfile(name), mode="r|*") as layer:
        for member in layer:
            path = member.name.removeprefix("./")
            folder, _, base = path.rpartition("/")
            if base == _ALL_GONE:
                yield f"{folder}/", None
            elif base.startswith(_GONE):
                yield f"{folder}/{base.removeprefix(_GONE)}", None
            elif member.isfile() and wanted(path):
                file = layer.extractfile(member)
                assert file is not None
                yield path, learn(path, file.read())


def _apply(layer: _Layer[_Facts], files: dict[str, _Facts]) -> None:
    gone = [path.strip("/") for path, facts in layer if facts is None]
    for path in [path for path in files if any(path == end or path.startswith(f"{end}/") for end in gone)]:
        del files[path]
    files.update({path: facts for path, facts in layer if facts is not None})


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    assert file is not None
    return file.read()
