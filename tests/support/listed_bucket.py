"""A bucket of which only the keys are known."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from streamapp_systems.objects import ObjectStat

Found = dict[str, object]
FoundLists = Iterator[list[Found]]
FoundObjects = dict[str, list[Found]]
_WRITTEN = datetime(2020, 1, 1, tzinfo=UTC)


class ListedBucket:
    """Lists keys as a store does; see `Bucket`."""

    url = where = "s3://listed"
    storage_options: dict[str, str] = {}

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = sorted(keys)

    @property
    def objects(self) -> "ListedBucket":
        """See `Bucket.objects`: the methods are those of its library."""
        return self

    @contextmanager
    def explained(self, _place: str) -> Iterator[None]:
        """See `Bucket.explained`."""
        yield

    def list(self, prefix: str | None) -> FoundLists:
        """Give the objects below a folder, in chunks."""
        yield [self._found(key) for key in self._keys if prefix is None or key.startswith(f"{prefix}/")]

    def list_with_delimiter(self, prefix: str | None) -> FoundObjects:
        """Give the objects in a folder."""
        (below,) = self.list(prefix)
        depth = 0 if prefix is None else prefix.count("/") + 1
        deeper = {str(found["path"]).split("/")[depth] for found in below if str(found["path"]).count("/") > depth}
        objects = [found for found in below if str(found["path"]).count("/") == depth]
        return {"objects": objects, "common_prefixes": [{"path": name} for name in sorted(deeper)]}

    @staticmethod
    def stat(found: Found) -> ObjectStat:
        """Give what is taken of what a library says of an object."""
        return ObjectStat.of(found)  # type: ignore[arg-type]

    @staticmethod
    def _found(key: str) -> Found:
        return {"path": key, "size": 1, "last_modified": _WRITTEN, "e_tag": '"tag"', "version": None}
