"""The folders of file outputs: their owners, and the part files of earlier runs that may be removed.

Nothing is ever removed but part files in folders that carry the owner's marker.
"""

import json
import os
import re
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

from streamapp_systems.objects import ObjectPath, Place
from streamapp_systems.protocols import StreamSystemError

MARKER = "_streamapp.json"
STAGING = ".staging"
_PART = re.compile(r"part-.+-\d+\.[a-z]+")
_DRAFT = "part-joined-"


def part_name(writer: str, sequence: int, ending: str) -> str:
    """Return the name of a part file; no two of one writer have one sequence number."""
    return f"part-{writer}-{sequence}{ending}"


def claim_output(folder: Place, owner: str) -> None:
    """Mark a folder for part files as the owner's, and create it where it is no prefix of keys; safe to repeat.

    Raises:
        StreamSystemError: the folder holds files and is not marked, is marked as another's, or can't be written.
    """
    if isinstance(folder, ObjectPath):
        _claim_objects(folder, owner)
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _claim(folder, owner)
    except OSError as error:
        raise StreamSystemError(f"output folder {folder} can't be prepared: {error}") from error


def published_parts(folder: Place, owner: str) -> list[Place]:
    """List the published part files in a folder, none if it is not the owner's."""
    marker = folder / MARKER
    if not marker.is_file() or _owner(marker) != owner:
        return []
    return _parts(folder)


def staged_parts(folder: Place) -> list[Place]:
    """List the part files in a folder that have not been published."""
    staging = folder / STAGING
    return _parts(staging) if staging.is_dir() else []


def publish_file(staged: Place, final: Place) -> None:
    """Move a complete file to its final name: it appears whole. In a store of objects, one that is there already stays.

    Raises:
        FileNotFoundError: it is gone.
        OSError, StreamSystemError: it can't be named so.
    """
    if isinstance(staged, Path) and isinstance(final, Path):
        final.parent.mkdir(parents=True, exist_ok=True)
        staged.replace(final)
    elif isinstance(staged, ObjectPath) and isinstance(final, ObjectPath):
        staged.move(final)


def sync_folders(file: Place, top: Place) -> None:
    """Make the name of a file durable, and those of its folders up to one of them: objects are so once they are there.

    Raises:
        OSError: a folder can't be synced.
    """
    if isinstance(file, Path) and isinstance(top, Path):
        for folder in file.parents:
            if folder.is_relative_to(top):
                sync_folder(folder)


def draft_name(ending: str) -> str:
    """Return a name, which no file has, for what is being joined of staged parts, beside these."""
    return f"{_DRAFT}{uuid.uuid4().hex}-0{ending}"


def joined_drafts(folder: Place) -> list[Place]:
    """List what is being joined in a folder: some of what `staged_parts` lists."""
    return [part for part in staged_parts(folder) if part.name.startswith(_DRAFT)]


def remove_parts(parts: Iterable[Place]) -> None:
    """Remove part files, durably; those that are gone are left out.

    Raises:
        StreamSystemError: one can't be removed.
    """
    folders: dict[Path, None] = {}
    try:
        for part in parts:
            part.unlink(missing_ok=True)
            if isinstance(part, Path):
                folders[part.parent] = None
        for folder in folders:
            sync_folder(folder)
    except OSError as error:
        raise StreamSystemError(f"part files of earlier runs can't be removed: {error}") from error


def create_file(path: Place, content: bytes) -> bool:
    """Write a file, whole and durable, if there is none of its name; return whether it has this content now.

    Raises:
        StreamSystemError: it can't be written.
    """
    if isinstance(path, ObjectPath):
        return path.create(content)
    draft = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
        finally:
            draft.unlink()
        sync_folder(path.parent)
    except OSError as error:
        raise StreamSystemError(f"{path} can't be written: {error}") from error
    return True


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the names in it are durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _claim(folder: Path, owner: str) -> None:
    marker = folder / MARKER
    draft = folder / f".{MARKER}"
    if marker.exists():
        _check_owner(folder, owner)
        return
    if any(path != draft for path in folder.iterdir()):
        raise _foreign(folder)
    with draft.open("w", encoding="utf-8") as file:
        json.dump({"owner": owner}, file)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(marker)
    sync_folder(folder)


def _claim_objects(folder: ObjectPath, owner: str) -> None:
    marker = folder / MARKER
    if marker.exists():
        _check_owner(folder, owner)
        return
    if folder.is_dir():
        raise _foreign(folder)
    if not marker.create(json.dumps({"owner": owner}).encode()):
        _check_owner(folder, owner)


def _check_owner(folder: Place, owner: str) -> None:
    found = _owner(folder / MARKER)
    if found != owner:
        raise StreamSystemError(
            f"output folder {folder} belongs to {found or 'someone unknown'}, not to {owner} ({MARKER} says so). "
            "Choose another folder, or remove this one if its content is not needed"
        )


def _foreign(folder: Place) -> StreamSystemError:
    return StreamSystemError(
        f"output folder {folder} holds files that are not StreamApp's. Choose another folder, or empty this one"
    )


def _owner(marker: Place) -> str | None:
    try:
        content = json.loads(marker.read_text(encoding="utf-8"))
    except ValueError:
        return None
    owner = content.get("owner") if isinstance(content, dict) else None
    return owner if isinstance(owner, str) else None


def _parts(folder: Place) -> list[Place]:
    """List the part files in a folder and in the folders of columns below it."""
    if isinstance(folder, ObjectPath):
        listed, _ = folder.objects(below=True)
        return [path for path in sorted(listed) if _is_part(path.relative_to(folder).split("/"))]
    found = sorted(path for path in folder.iterdir() if _PART.fullmatch(path.name))
    below = sorted(path for path in folder.iterdir() if "=" in path.name and path.is_dir())
    return [*found, *(part for path in below for part in _parts(path))]


def _is_part(key: Sequence[str]) -> bool:
    return all("=" in folder for folder in key[:-1]) and _PART.fullmatch(key[-1]) is not None
