"""The files of a folder or a store that become more: which of them are complete, and in which partitions they are."""

import hashlib
import json
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file.compressed_files import COMPRESSIONS
from streamapp_systems.file.counted_files import count_records
from streamapp_systems.file.file_chunks import FileFormat
from streamapp_systems.file.file_versions import FileStat, relative_name
from streamapp_systems.file.partition_files import file_format, partition_files
from streamapp_systems.file.stored_files import is_pattern, stored_files
from streamapp_systems.folder.file_journal import FileJournal, SeenFile
from streamapp_systems.folder.growing_files import OpenStreams
from streamapp_systems.objects import ObjectChanged, ObjectPath, Place
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError, VersionGone, WholeVersion

JOURNALS = "_streamapp"
"""The folder of the journals, in that of the system."""
REST_SECONDS = 2.0
"""Seconds without a change after which a file counts as complete."""
_UNFINISHED = ".tmp"
_GROUP = 256
"""Files that are appended to the journal together."""
_LISTED = 1_000
"""Objects that a store lists by one request."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    size: int
    modified: int
    since: float


class GrowingFolder:
    """The files of a folder or pattern as `GrowingFiles`. `clock` gives seconds, `wall_clock` nanoseconds since 1970.

    A file is complete once it has not changed for `REST_SECONDS`, by its modification time or as far as was seen here;
    an object always is. Objects are listed once a second for each request that it takes, and a look that has to end
    early is gone on with before they are listed again.
    """

    keeps_files = False

    def __init__(
        self,
        root: Place,
        journals: Path,
        descriptor: StreamDescriptor,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._root = root
        self.descriptor = descriptor
        self.journal_path = journals / f"{quote(descriptor.address, safe='')}.db"
        self._clock = clock
        self._wall_clock = wall_clock
        self._known: dict[str, tuple[int, int | None]] = {}
        """Size and modification time of the files that the journal has, by name."""
        self._last = 0
        self._waiting: dict[str, _Waiting] = {}
        self._requests = 0
        """How many requests the last listing of objects took."""
        self._left: Sequence[tuple[str, Place]] = ()
        """The objects of that listing that no look has come to."""

    @property
    def pause(self) -> float:
        """See `GrowingFiles.pause`."""
        return 0.0 if self._left else float(self._requests)

    @property
    def layout(self) -> str:
        """The format of its files, what says which lines of CSV are records, and the place of objects.

        The journal of objects is not in their folder, and could be given to those of another one.
        """
        stream = self.descriptor
        parts: dict[str, object] = {"format": stream.format.value}
        if isinstance(self._root, ObjectPath):
            parts["path"] = str(self._root)
        if stream.format is StreamFormat.CSV:
            parts |= {"csv.header": stream.csv.header, "csv.delimiter": stream.csv.delimiter}
        return json.dumps(parts)

    def check_place(self) -> None:
        """See `GrowingFiles.check_place`."""
        address = self.descriptor.address
        place = self._root if is_pattern(address) else self._root / address
        if isinstance(place, ObjectPath):
            if not place.is_dir() and place.key and place.exists():
                raise StreamSystemError(
                    f"stream {self.descriptor.name}: {place} is an object: name the folder it is in"
                )
        elif not place.is_dir():
            raise StreamSystemError(
                f"stream {self.descriptor.name}: there is no folder {place}. Make it (its files may come later), or "
                "correct the path"
            )

    def look(self, journal: FileJournal, partitions: Collection[int], stopping: Callable[[], bool]) -> frozenset[int]:
        """See `GrowingFiles.look`. Files that are seen at once are in the natural order of their names."""
        wanted = frozenset(partitions)
        self._last, seen = journal.seen(self._last)
        self._known.update((file.name, (file.size, file.modified)) for file in seen)
        # What came since the objects that are left were listed is not among them.
        incomplete = set(wanted) if self._left else set()
        files, self._left = iter(self._left or self._files()), ()
        found: dict[int, list[SeenFile]] = {}
        for name, path in files:
            partition = file_partition(name, journal.partitions)
            if partition not in wanted:
                continue
            if name in self._known:
                self._check_unchanged(name, path)
                continue
            self._check_not_read(name, path)
            file = self._count(name, path)
            if file is None:
                incomplete.add(partition)
                continue
            found.setdefault(partition, []).append(file)
            if sum(map(len, found.values())) >= _GROUP:
                journal.append(found)
                found = {}
            if stopping():
                incomplete |= wanted
                self._left = tuple(files) if isinstance(self._root, ObjectPath) else ()
                break
        journal.append(found)
        return frozenset(incomplete)

    def latest_version(self) -> str:
        """See `VersionedFiles.latest_version`: it depends on the names, sizes and times of the files."""
        return _version_of(self._listed().values())

    def version_files(self, whole: WholeVersion, partitions: Collection[int]) -> Mapping[int, list[SeenFile]]:
        """See `VersionedFiles.version_files`."""
        listed = self._listed()
        if _version_of(listed.values()) != whole.version:
            raise self._changed()
        found: dict[int, list[SeenFile]] = {}
        for name, stat in listed.items():
            partition = file_partition(name, whole.partitions)
            if partition in partitions:
                file = self._counted(name, self.path(name))
                if file is None or (file.size, file.modified) != (stat.size, stat.modified):
                    raise self._changed()
                found.setdefault(partition, []).append(file)
        return found

    def path(self, name: str) -> Place:
        """See `GrowingFiles.path`."""
        return self._root / name

    def format(self, journal: FileJournal | None, seen: SeenFile) -> FileFormat:  # noqa: ARG002 - all files have one
        """See `GrowingFiles.format`."""
        return file_format(self.descriptor)

    def _files(self) -> Iterator[tuple[str, Place]]:
        root, named = self._root, list[tuple[str, Place]]()
        if isinstance(root, ObjectPath):
            objects, listed = stored_files(root, self.descriptor)
            self._requests = 1 + listed // _LISTED
            named += ((path.relative_to(root), path) for path in objects)
        else:
            self.check_place()
            files = partition_files(root, self.descriptor)
            named += ((relative_name(root, path), path) for path in files)
        return ((name, path) for name, path in named if not name.endswith(_UNFINISHED))

    def _listed(self) -> dict[str, FileStat]:
        """Return the files as they are now from outside, in their order."""
        found = {}
        for name, path in self._files():
            with suppress(FileNotFoundError):
                stat = path.stat()
                found[name] = FileStat(name=name, size=stat.st_size, modified=stat.st_mtime_ns)
        return found

    def _changed(self) -> VersionGone:
        stream = self.descriptor
        return VersionGone(f"stream {stream.name}: files at {self._root / stream.address} have come, gone or changed")

    def _check_unchanged(self, name: str, path: Place) -> None:
        """Check that a file of the journal, perhaps one that was read long ago, has got no other rows."""
        try:
            found = path.stat()
        except OSError:
            return
        size, modified = self._known[name]
        if (found.st_size, found.st_mtime_ns) != (size, modified):
            back = "Put the old file back with its modification time, or take the file away if its rows were read"
            if isinstance(path, ObjectPath):
                back = (
                    "Remove the journal and begin a new run, or take the object away if rows of the old one were read"
                )
            raise StreamSystemError(
                f"stream {self.descriptor.name}: {path} has changed since it was first seen, when it had {size} bytes "
                f"(now {found.st_size}): rows that it got since would not be read. {back}, and put new rows into new "
                "files"
            )

    def _check_not_read(self, name: str, path: Place) -> None:
        """Check that a new file is not one of the journal that was compressed since, as those who rotate files do."""
        plain = name.removesuffix(path.suffix) if path.suffix in COMPRESSIONS else name
        if plain in self._known:
            raise StreamSystemError(
                f"stream {self.descriptor.name}: {path} has the name of {plain}, which was seen before, and its rows "
                "would be read twice. Put compressed files in another folder, or give this one another name if its "
                "rows are new"
            )

    def _count(self, name: str, path: Place) -> SeenFile | None:
        """Return a file with its number of records; None if it is not complete, or is gone."""
        try:
            before = path.stat()
        except FileNotFoundError:
            self._waiting.pop(name, None)
            return None
        if isinstance(path, Path) and not self._rests(name, before.st_size, before.st_mtime_ns):
            return None
        counted = self._counted(name, path)
        if counted is None or (counted.size, counted.modified) != (before.st_size, before.st_mtime_ns):
            return None
        self._waiting.pop(name, None)
        return counted

    def _counted(self, name: str, path: Place) -> SeenFile | None:
        """Return a file with its number of records; None if it is gone, or changes meanwhile."""
        try:
            before = path.stat()
            records = count_records(self.descriptor, path)
            after = path.stat()
        except (FileNotFoundError, ObjectChanged):
            return None
        except (OSError, ValueError, pa.ArrowException) as error:
            raise StreamSystemError(
                f"stream {self.descriptor.name}: {path} can't be read as {self.descriptor.format}: {error}. Take it "
                "away; a file that is still being written has a name that begins with `_` or `.`, or ends in `.tmp`, "
                "and is renamed when it is complete"
            ) from error
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            return None
        return SeenFile(name=name, size=before.st_size, modified=before.st_mtime_ns, records=records)

    def _rests(self, name: str, size: int, modified: int) -> bool:
        if self._wall_clock() - modified >= REST_SECONDS * 1_000_000_000:
            return True
        now, earlier = self._clock(), self._waiting.get(name)
        if earlier is None or (earlier.size, earlier.modified) != (size, modified):
            self._waiting[name] = _Waiting(size, modified, now)
            return False
        return now - earlier.since >= REST_SECONDS


def growing_folders(root: Place, journals: Path | None) -> OpenStreams:
    """Return what opens the streams of a folder; `journals` is the folder of their journals, if not below it."""
    return lambda descriptor: GrowingFolder(root, journals_of(root, journals, descriptor), descriptor)


def journals_of(root: Place, journals: Path | None, descriptor: StreamDescriptor) -> Path:
    """Return the folder of the journals of what is below a folder; a stream that is read whole makes none there.

    Raises:
        StreamSystemError: none is given, and the folder is in a store of objects, where files can't be locked.
    """
    if journals is not None:
        return journals
    if isinstance(root, Path):
        return root / JOURNALS
    if descriptor.whole is not None:
        return Path(JOURNALS)
    raise StreamSystemError(f"{root} has no place for a journal: name a folder of a disk or volume as `journal`")


def _version_of(files: Iterable[FileStat]) -> str:
    listed = json.dumps([(file.name, file.size, file.modified) for file in files])
    return hashlib.sha256(listed.encode()).hexdigest()[:16]


def file_partition(name: str, partitions: int) -> int:
    """Return the partition of a file: a hash of its name."""
    return zlib.crc32(name.encode(errors="surrogateescape")) % partitions
