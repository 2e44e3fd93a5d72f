"""Layers made of folders of files, kept as tar files in the cache."""

import hashlib
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tools.cluster.process import run
from tools.images.archive import Layer

State = dict[str, tuple[int, ...]]
"""What a tree held at a time: path -> what tells one state of a file from another."""

_LEFT_OUT = ("dev/", "proc/", "sys/", "run/", "tmp/", "var/cache/", "var/lib/apt/lists/", "var/log/", "root/")
_LEFT_OUT_SHARED = ("usr/share/doc/", "usr/share/info/", "usr/share/locale/", "usr/share/man/", "usr/share/lintian/")
_OF_THIS_MACHINE = ("etc/hostname", "etc/machine-id", "etc/resolv.conf")


def tree_state(tree: Path) -> State:
    """Return what of a tree belongs into a layer: all but caches, manuals and what only this machine needs."""
    state: State = {}
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            path = Path(folder, name)
            relative = str(path.relative_to(tree))
            if _belongs(relative):
                status = path.lstat()
                changing = (status.st_size, status.st_mtime_ns, status.st_ino)
                state[relative] = (status.st_mode, *(() if stat.S_ISDIR(status.st_mode) else changing))
    return state


def _belongs(path: str) -> bool:
    if path in _OF_THIS_MACHINE or path.startswith(_LEFT_OUT):
        return False
    return not path.startswith(_LEFT_OUT_SHARED) or path.endswith("/copyright")


def added(before: State, after: State) -> list[str]:
    """Return the paths that are new or changed, sorted. What went away stays in the layer below."""
    return sorted(path for path, state in after.items() if before.get(path) != state)


def write_layer(into: Path, tree: Path, paths: Iterable[str], *, owned_by_root: bool = False) -> None:
    """Write `layer.tar` and `layer.json` from paths of a tree; the time of every file is 1970."""
    tar = into / "layer.tar"
    command = ["tar", "--create", "--file", str(tar), "--directory", str(tree), "--format=gnu", "--mtime=@0"]
    command += ["--numeric-owner", "--no-recursion", "--null", "--verbatim-files-from", "--files-from=-"]
    command += ["--owner=0", "--group=0"] if owned_by_root else []
    run(command, text="\0".join(paths))
    with tar.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    (into / "layer.json").write_text(json.dumps({"digest": f"sha256:{digest}", "size": tar.stat().st_size}))


def read_layer(folder: Path) -> Layer:
    """Return the layer that `write_layer` has written."""
    return Layer(tar=folder / "layer.tar", **json.loads((folder / "layer.json").read_text()))
