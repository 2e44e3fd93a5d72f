"""The objects of a stream: its address resolved in a store, as that of files is in a folder."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import takewhile

from streamapp_systems.file.partition_files import all_endings, shown_names
from streamapp_systems.objects import ObjectPath
from streamapp_systems.protocols import StreamDescriptor

_SPECIAL = frozenset("*?[")
_ANY_FOLDERS = "**"


def is_pattern(address: str) -> bool:
    """Return whether an address has parts that stand for several names."""
    return not _SPECIAL.isdisjoint(address)


def stored_files(root: ObjectPath, stream: StreamDescriptor) -> tuple[list[ObjectPath], int]:
    """List the objects of a stream as `partition_files` does files, compressed ones too, and count what is listed.

    Only what is below the folder that the address begins with is listed.
    """
    if is_pattern(stream.address):
        pattern = stream.address.split("/")
        base = root
        folder = root / "/".join(takewhile(lambda part: not is_pattern(part), pattern))
        listed, count = folder.objects(below=True)
        found = {name: path for path in listed if matches((name := path.relative_to(root)).split("/"), pattern)}
    else:
        base = root / stream.address
        (listed, count), ends = base.objects(below=bool(stream.folder_columns)), all_endings(stream)
        found = {path.relative_to(base): path for path in listed if path.key.endswith(ends)}
    return [found[name] for name in shown_names(found, stream)], count


def matches(name: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the parts of a name are those of a pattern, in which `**` stands for any folders."""
    if not pattern:
        return not name
    first, rest = pattern[0], pattern[1:]
    if first == _ANY_FOLDERS and rest:
        return any(matches(name[start:], rest) for start in range(len(name)))
    if first == _ANY_FOLDERS:
        return bool(name)
    return bool(name) and fnmatchcase(name[0], first) and matches(name[1:], rest)
