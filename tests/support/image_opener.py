"""A program that opens the stores in many folders, each in a process of its own: what one finds may kill it."""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.task_state import TaskState
from streamapp_runtime.state.unlogged_state import UnloggedState
from support.changelogs import Changelog
from support.repository import ROOT

STORES = ("a", "b")


@dataclass(frozen=True)
class Found:
    """The stores in a folder, as found by their owner; logged ones may be `kept`, unlogged ones have a `record`."""

    stores: dict[str, dict[bytes, bytes]]
    kept: bool
    record: bytes | None


def open_all(folders: Sequence[Path], owner: StateOwner, changelog: Changelog | None) -> Iterator[Found | str]:
    """Open the stores in each folder and yield what is found, or how the process that did so has died."""
    given = pickle.dumps((folders, owner, changelog))
    command = [sys.executable, "-c", "from support import image_opener; image_opener.main()"]
    done = subprocess.run(command, input=given, capture_output=True, check=True, cwd=ROOT / "tests")
    for folder, status in zip(folders, json.loads(done.stdout), strict=True):
        if status:
            yield f"exit {os.waitstatus_to_exitcode(status)}: {(folder / 'errors').read_text()}"
        else:
            yield pickle.loads((folder / "found").read_bytes())


def find(folder: Path, owner: StateOwner, changelog: Changelog | None) -> Found:
    """Open the stores in a folder and read all of them."""
    if changelog is None:
        unlogged = UnloggedState(folder, owner)
        opened = {name: unlogged.store(name) for name in STORES}
        stores = {name: dict(store.store.scan()) for name, store in opened.items()}
        return Found(stores, False, opened["a"].record)
    state = TaskState(folder, owner, changelog, lambda: 0)
    return Found({name: dict(state.logged_store(name).scan()) for name in STORES}, state.restored.kept, None)


def main() -> None:
    """Fork for each folder; write the statuses to standard output."""
    folders, owner, changelog = pickle.loads(sys.stdin.buffer.read())
    pa.array([b"imports"])  # Arrow imports pandas for its first array: once here, not in each child
    statuses = []
    for folder in folders:
        child = os.fork()
        if not child:
            os.dup2(os.open(folder / "errors", os.O_CREAT | os.O_WRONLY), 2)
            found = find(folder, owner, changelog)
            (folder / "found").write_bytes(pickle.dumps(found))
            os._exit(0)
        statuses.append(os.waitpid(child, 0)[1])
    sys.stdout.write(json.dumps(statuses))
