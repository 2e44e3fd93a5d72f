"""Parts that are joined into one file, whose name says what it holds: whoever comes later finds out if it is there.

The parts of a writer that wait for one folder are joined all at once, so the numbers of the first and the last of them
name the file. It is written beside them, appears by a rename, or by a copy in a store of objects, and then they are
removed.
"""

import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file.output_folder import draft_name, publish_file, remove_parts, sync_folders
from streamapp_systems.file.part_writer import PartWriter
from streamapp_systems.objects import FilesMade, Place
from streamapp_systems.protocols import StagedPart, StreamDescriptor, StreamSystemError

_PART = re.compile(r"(part-.+)-(\d+)(\.[a-z]+)")
_PARQUET = ".parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedParts:
    """Parts of one writer that become one file: paths relative to the system's folder, in the order of their rows."""

    stream: str
    staged: tuple[str, ...]
    final: str


def waits_in_folder(part: StagedPart) -> bool:
    """Return whether a part is joined with those that wait for the same folder: `final` names it and ends with /."""
    return part.final.endswith("/")


def joined_parts(parts: Iterable[StagedPart]) -> list[JoinedParts]:
    """Return the files that parts which wait for folders become.

    Raises:
        StreamSystemError: a name is none of a part.
    """
    groups: dict[tuple[str, str, str, str], dict[int, str]] = defaultdict(dict)
    for part in parts:
        found = _PART.fullmatch(part.staged.rpartition("/")[2])
        if found is None:
            raise StreamSystemError(
                f"output {part.stream}: {part.staged} is no name of a part that this release staged"
            )
        groups[part.stream, part.final, found[1], found[3]][int(found[2])] = part.staged
    return [
        JoinedParts(
            stream=stream,
            staged=tuple(staged[number] for number in sorted(staged)),
            final=f"{folder}{writer}-{_numbers(staged)}{ending}",
        )
        for (stream, folder, writer, ending), staged in groups.items()
    ]


def publish_joined(root: Place, parts: JoinedParts) -> None:
    """Join parts into their file, unless it is there, and remove them; safe to repeat after a death at any step.

    Raises:
        StreamSystemError: the file can't be written, or a part is gone and the file is not there; `Unavailable` if the
            store does not answer.
    """
    final, staged = root / parts.final, [root / name for name in parts.staged]
    try:
        if not final.exists():
            _publish(staged, final)
        sync_folders(final, staged[0].parent.parent)
    except FileNotFoundError as error:
        gone = next((part for part in staged if not part.exists()), staged[0])
        raise StreamSystemError(
            f"output {parts.stream}: {gone} is gone and was not published in {final}: someone removed it. "
            "Its rows are lost; begin a new run to write them again"
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise StreamSystemError(f"output {parts.stream}: {final} can't be written: {error}") from error
    remove_parts(staged)


def _numbers(staged: Iterable[int]) -> str:
    first, last = min(staged), max(staged)
    return f"{first}" if first == last else f"{first}-to-{last}"


def _publish(staged: Sequence[Place], final: Place) -> None:
    """Write the file, and give it its name.

    Another process may do the same: an earlier owner of the parts that has come back, or the next one. Who finds parts
    gone looks if the file is there. The draft is made before the last part is opened, so that a driver that removes
    first the parts and then the drafts knows that no file follows.

    Raises:
        FileNotFoundError: a part is gone, and the file is not there.
        OSError, pa.ArrowException, StreamSystemError: it can't be written.
    """
    folder = staged[0].parent
    name = draft_name(final.suffix)
    made = FilesMade(folder)
    try:
        if final.suffix == _PARQUET:
            _join_tables(staged, made.folder / name)
        else:
            _join_texts(staged, made.folder / name)
        made.deliver(name)
        _check_there(staged)
        publish_file(folder / name, final)
    except FileNotFoundError:
        if not final.exists():
            raise
    finally:
        made.close()
        (folder / name).unlink(missing_ok=True)


def _check_there(staged: Iterable[Place]) -> None:
    gone = next((part for part in staged if not part.exists()), None)
    if gone is not None:
        raise FileNotFoundError(str(gone))


def _join_texts(staged: Sequence[Place], draft: Path) -> None:
    """Append texts to each other: the first one alone may begin with a header."""
    with draft.open("xb") as joined:
        for part in staged:
            with part.open("rb") as text:
                shutil.copyfileobj(text, joined, 1 << 20)
        joined.flush()
        os.fsync(joined.fileno())


def _join_tables(staged: Sequence[Place], draft: Path) -> None:
    """Write the rows of files of Parquet into one, in row groups of the usual size."""
    with staged[0].open("rb") as first:
        schema = pq.read_schema(first)
    stream = StreamDescriptor(name="", system="", address="", format=StreamFormat.PARQUET)
    writer = PartWriter(draft, schema, stream)
    try:
        for part in staged:
            with part.open("rb") as opened, pq.ParquetFile(opened) as file:
                for batch in file.iter_batches():
                    writer.append(pa.Table.from_batches([batch], schema))
        writer.finish()
    except BaseException:
        writer.drop()
        raise
