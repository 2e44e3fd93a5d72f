"""Objects of a bucket by their keys, with the methods of `pathlib.Path` that folders and tables are read by."""

import io
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias, cast

from streamapp_systems.protocols import StreamSystemError, Unavailable

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import S3Store

_BUFFER = 1 << 20
_SECOND = 1_000_000_000
_PARTS_AT_ONCE = 4
"""Parts of 5 MB of a large object that are written side by side: each has half a minute, also on a slow line."""


class Bucket(Protocol):
    """A bucket of a store, opened."""

    @property
    def url(self) -> str:
        """The bucket as in a spec: `s3://bucket`."""
        ...

    @property
    def where(self) -> str:
        """The store, for messages."""
        ...

    @property
    def storage_options(self) -> dict[str, str]:
        """The options by which deltalake opens the bucket."""
        ...

    @property
    def objects(self) -> "S3Store":
        """The library's access to its objects."""
        ...

    def explained(self, place: str) -> AbstractContextManager[None]:
        """Turn the library's errors in the block, about this place, into ours; `FileNotFoundError` stays.

        Raises:
            Unavailable: the store does not answer.
            StreamSystemError: it refuses.
        """
        ...


@dataclass(frozen=True, slots=True)
class ObjectStat:
    """An object from outside: its bytes, when it was written (ns since 1970), and the tag of its content.

    Stores have the seconds of the time; below them are digits of the tag, so that one of the same second differs.
    """

    st_size: int
    st_mtime_ns: int
    tag: str

    @staticmethod
    def of(found: "ObjectMeta") -> "ObjectStat":
        """Return what a library says of an object."""
        tag = found["e_tag"] or ""
        seconds = int(found["last_modified"].timestamp())
        below = zlib.crc32(tag.encode()) % _SECOND
        return ObjectStat(st_size=found["size"], st_mtime_ns=seconds * _SECOND + below, tag=tag)


class ObjectPath:
    """An object of a bucket, or the folder of all objects whose keys begin with this one and `/`.

    What it has once found of its object, `stat`, stays, and only this version of the object is read. All methods raise
    what `Bucket.explained` says.
    """

    def __init__(self, bucket: Bucket, key: str, found: ObjectStat | None = None) -> None:
        """Look at nothing yet; `found` is what has been found of the object."""
        self.bucket = bucket
        self.key = key
        if found is not None:
            self._stat = found

    def __truediv__(self, name: str) -> "ObjectPath":
        return ObjectPath(self.bucket, "/".join(part for part in (*self.key.split("/"), *name.split("/")) if part))

    def __str__(self) -> str:
        return f"{self.bucket.url}/{self.key}" if self.key else self.bucket.url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __lt__(self, other: "ObjectPath") -> bool:
        return self.key < other.key

    @property
    def name(self) -> str:
        """The last part of the key."""
        return PurePosixPath(self.key).name

    @property
    def suffix(self) -> str:
        """The ending of the name, with its dot."""
        return PurePosixPath(self.key).suffix

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the key."""
        return PurePosixPath(self.key).parts

    @property
    def parent(self) -> "ObjectPath":
        """The folder that the object is in."""
        return ObjectPath(self.bucket, self.key.rpartition("/")[0])

    def stat(self) -> ObjectStat:
        """Return the object as it was when this was first asked.

        Raises:
            FileNotFoundError: there is none.
        """
        return self._stat

    @cached_property
    def _stat(self) -> ObjectStat:
        with self.bucket.explained(str(self)):
            return ObjectStat.of(self.bucket.objects.head(self.key))

    def exists(self) -> bool:
        """Return whether there is such an object now."""
        try:
            ObjectPath(self.bucket, self.key).stat()
        except FileNotFoundError:
            return False
        return True

    is_file = exists

    def is_dir(self) -> bool:
        """Return whether there is an object in the folder."""
        with self.bucket.explained(str(self)):
            return any(map(len, self.bucket.objects.list(self.key or None, chunk_size=1)))

    def iterdir(self) -> Iterator["ObjectPath"]:
        """Yield the objects and folders in the folder; none if it has none, since it is nothing by itself.

        1,000 of them are a request.
        """
        with self.bucket.explained(str(self)):
            found = self.bucket.objects.list_with_delimiter(self.key or None)
        for key in (*found["common_prefixes"], *(each["path"] for each in found["objects"])):
            yield ObjectPath(self.bucket, key)

    def objects(self, *, below: bool) -> tuple[list["ObjectPath"], int]:
        """List the objects in the folder, `below` those in its folders, too, with what is found of each.

        Return also how many names were listed, with those of folders: 1,000 of them are a request.
        """
        store, prefix = self.bucket.objects, self.key or None
        with self.bucket.explained(str(self)):
            if below:
                found, folders = [each for chunk in store.list(prefix) for each in chunk], 0
            else:
                listed = store.list_with_delimiter(prefix)
                found, folders = list(listed["objects"]), len(listed["common_prefixes"])
        return [ObjectPath(self.bucket, each["path"], ObjectStat.of(each)) for each in found], len(found) + folders

    def relative_to(self, folder: "ObjectPath") -> str:
        """Return the part of the key that follows that of a folder that the object is below."""
        return self.key.removeprefix(f"{folder.key}/") if folder.key else self.key

    def read_bytes(self) -> bytes:
        """Read the object as it is now.

        Raises:
            FileNotFoundError: there is none.
        """
        with self.bucket.explained(str(self)):
            return bytes(self.bucket.objects.get(self.key).bytes())

    def read_text(self, encoding: str) -> str:
        """Read the object as it is now, as text; see `read_bytes`."""
        return self.read_bytes().decode(encoding)

    def open(self, mode: str = "rb", buffering: int = _BUFFER) -> BinaryIO:
        """Open the object's version for reading.

        Raises:
            FileNotFoundError: there is none.
            ValueError: the mode is another one: objects are written as a whole.
        """
        if mode != "rb":
            raise ValueError(f"{self}: objects are opened to be read, not with {mode}")
        return cast("BinaryIO", io.BufferedReader(_ObjectReader(self, self.stat()), buffering))

    def write_bytes(self, content: bytes) -> None:
        """Write the object, whole or not at all."""
        with self.bucket.explained(str(self)):
            self.bucket.objects.put(self.key, content)

    def create(self, content: bytes) -> bool:
        """Write the object if there is none; return whether it has this content now."""
        from obstore.exceptions import AlreadyExistsError

        with self.bucket.explained(str(self)):
            try:
                self.bucket.objects.put(self.key, content, mode="create")
            except AlreadyExistsError as error:
                try:
                    return self.read_bytes() == content  # a request that was answered too late was made again
                except FileNotFoundError:
                    raise self._conflict(self) from error
        return True

    @staticmethod
    def _conflict(refused: "ObjectPath") -> Unavailable:
        """Return the error of an object that is not there: stores refuse it, too, while others write it."""
        where = refused.bucket.where
        return Unavailable(
            f"{refused} can't be written at the moment: {where} refused an object that nobody has written"
        )

    def write_file(self, made: Path) -> None:
        """Write a file as the object, whole or not at all."""
        with self.bucket.explained(str(self)):
            self.bucket.objects.put(self.key, made, max_concurrency=_PARTS_AT_ONCE)

    def move(self, final: "ObjectPath") -> None:
        """Move the object to another key, at which it appears whole; an object that is there already stays.

        Who gives an object of its key always the same content may repeat this, whatever became of earlier tries.

        Raises:
            FileNotFoundError: there is neither this object nor the other.
        """
        from obstore.exceptions import AlreadyExistsError

        try:
            with self.bucket.explained(str(self)):
                try:
                    self.bucket.objects.copy(self.key, final.key, overwrite=False)
                except AlreadyExistsError as error:
                    raise self._conflict(final) from error
        except (FileNotFoundError, StreamSystemError):
            if not final.exists():  # it is there if an earlier try has no answer, or another process was faster
                raise
        self.unlink(missing_ok=True)

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove the object; few stores say whether there was one.

        Raises:
            FileNotFoundError: there was none, and the store says so.
        """
        try:
            with self.bucket.explained(str(self)):
                self.bucket.objects.delete(self.key)
        except FileNotFoundError:
            if not missing_ok:
                raise


Place: TypeAlias = Path | ObjectPath
"""A file or a folder, on a disk or in a store."""


class _ObjectReader(io.RawIOBase):
    """The bytes of one version of an object."""

    def __init__(self, path: ObjectPath, stat: ObjectStat) -> None:
        self._path = path
        self._stat = stat
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._stat.st_size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        end = min(self._position + len(buffer), self._stat.st_size)
        if end <= self._position:
            return 0
        bucket = self._path.bucket
        with bucket.explained(str(self._path)):
            read = bucket.objects.get(
                self._path.key, options={"range": (self._position, end), "if_match": self._stat.tag or None}
            ).bytes()
        buffer[: len(read)] = memoryview(read)
        self._position += len(read)
        return len(read)
