"""The reason that a stream has no files: what is at its place instead."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from streamapp_core.near_names import did_you_mean
from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file.partition_files import ENDINGS, endings
from streamapp_systems.file.stored_files import is_pattern
from streamapp_systems.protocols import StreamDescriptor

_LISTED = 1_000
"""Names of a folder that are looked at."""


def explain_missing_files(root: Path, stream: StreamDescriptor) -> str:
    """Return why a stream that is read has no files, and what to do."""
    place = root / stream.address
    if is_pattern(stream.address):
        return f"no file has a name like {place}; correct the stream's `name`, or put files there"
    if not place.exists():
        near = did_you_mean(place.name, _names(place.parent)) if place.parent.is_dir() else ""
        return f"there is no {place}{near or ': put files there, or correct the name of the stream (`name`)'}"
    return f"{place} is a folder {_explain_folder(place, stream)}"


def _explain_folder(place: Path, stream: StreamDescriptor) -> str:
    names = _names(place)
    found = next((other for other, ends in _other_endings(stream) if any(name.endswith(ends) for name in names)), None)
    if found is not None:
        return f"of files in {found}, and the stream's format is {stream.format}: set `format: {found}`"
    folders = [name for name in names if (place / name).is_dir()]
    columns = [name.partition("=")[0] for name in folders if "=" in name]
    if columns and not stream.folder_columns:
        return (
            f"whose folders are named by the values of a column, such as {folders[0]}: set `folderColumns: "
            f"[{columns[0]}]`, with all columns that are folders, and name these in the schema, too"
        )
    if folders:
        return (
            f"of folders, such as {folders[0]}, in which nothing is looked for: name them by a pattern, such as "
            f"`name: '{stream.address}/**/*{endings(stream)[0]}'`"
        )
    if not names:
        return f"without files: put some there, whose names end in {', '.join(endings(stream))}"
    return f"whose files are not {stream.format}, such as {names[0]}: names have to end in {', '.join(endings(stream))}"


def _other_endings(stream: StreamDescriptor) -> Iterable[tuple[StreamFormat, tuple[str, ...]]]:
    own = endings(stream)
    return ((other, ends) for other, ends in ENDINGS.items() if ends != own)


def _names(folder: Path) -> list[str]:
    """Return some names in a folder, without those that are hidden; none if it can't be read."""
    try:
        names = [path.name for path in islice(folder.iterdir(), _LISTED)]
    except OSError:
        return []
    return sorted(name for name in names if not name.startswith((".", "_")))
