"""The files that a person means by a folder, a pattern or a name, as those of a stream."""

import glob
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from streamapp_core.spec.streams import StreamFormat
from streamapp_runtime.errors import RuntimeFailure
from streamapp_systems.file.compressed_files import COMPRESSIONS
from streamapp_systems.file.partition_files import ENDINGS, partition_files
from streamapp_systems.protocols import StreamDescriptor

_PARQUET = b"PAR1"
SYSTEM = "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """The files that a text on a command line means: those of a stream whose path begins at `root`."""

    root: Path
    stream: StreamDescriptor
    paths: Sequence[Path]


def find_files(source: str) -> SourceFiles:
    """Return the files of a folder, of a pattern of names, or the one file.

    Raises:
        RuntimeFailure: there are none that can be a stream.
    """
    root, stream = _find(source)
    paths = partition_files(root, stream)
    if not paths:
        raise RuntimeFailure(f"{source}: there are no files of {stream.format} here")
    return SourceFiles(root=root, stream=stream, paths=paths)


def _find(source: str) -> tuple[Path, StreamDescriptor]:
    place = Path(source)
    if place.is_file():
        return place.parent, _descriptor(place.name, _format_of(place))
    if place.is_dir():
        place = place.resolve()
        return place.parent, _in_folder(place, source)
    names = glob.glob(source, recursive=True)  # noqa: PTH207 - takes absolute patterns
    files = [Path(name) for name in names if Path(name).is_file()]
    if not files:
        raise RuntimeFailure(f"{source}: there is no such file or folder, nor a file of such a name")
    return Path(), _descriptor(source, _format_of(files[0]))


def _in_folder(place: Path, source: str) -> StreamDescriptor:
    endings = {ending: form for form, each in ENDINGS.items() for ending in each}
    folders = _column_folders(place)
    paths = place.rglob("*") if folders else place.iterdir()
    names = [path.name for path in paths if path.is_file() and not path.name.startswith((".", "_"))]
    counts = Counter(endings[suffix] for name in names if (suffix := Path(name).suffix) in endings)
    if counts:
        ((form, _),) = counts.most_common(1)
        return replace(_descriptor(place.name, form), folder_columns=folders)
    compressed = Counter(
        (suffix, form)
        for name in names
        for ending, form in endings.items()
        for suffix in (ending + codec for codec in COMPRESSIONS)
        if name.endswith(suffix) and form is not StreamFormat.PARQUET
    )
    if compressed and not folders:
        (((suffix, form), _),) = compressed.most_common(1)
        return _descriptor(f"{place.name}/*{suffix}", form)
    shown = ", ".join(sorted(path.name for path in place.iterdir())[:5]) or "nothing"
    raise RuntimeFailure(
        f"{source}: this folder has no files that end in {', '.join(endings)}; it has {shown}. Name a file, or a "
        f"pattern for those in folders below: '{source}/**/*.csv'"
    )


def _column_folders(place: Path) -> tuple[str, ...]:
    """Return the names of the folders `name=value` that a path to the files has, as in Hive."""
    names: list[str] = []
    while True:
        inside = [path for path in place.iterdir() if not path.name.startswith(".") and path.is_dir()]
        found = {unquote(path.name.partition("=")[0]) for path in inside if "=" in path.name}
        if len(found) != 1:
            return tuple(names)
        names += found
        place = next(path for path in inside if "=" in path.name)


def _format_of(path: Path) -> StreamFormat:
    """Return the format of a file: what its name says, else what it begins with."""
    name = path.name
    for codec in COMPRESSIONS:
        name = name.removesuffix(codec)
    for form, endings in ENDINGS.items():
        if name.endswith(endings):
            return form
    with path.open("rb") as file:
        beginning = file.read(1 << 10).removeprefix(b"\xef\xbb\xbf").lstrip()
    if beginning.startswith(_PARQUET):
        return StreamFormat.PARQUET
    return StreamFormat.JSON if beginning.startswith(b"{") else StreamFormat.CSV


def _descriptor(address: str, form: StreamFormat) -> StreamDescriptor:
    return StreamDescriptor(name="sample", system=SYSTEM, address=address, format=form)
