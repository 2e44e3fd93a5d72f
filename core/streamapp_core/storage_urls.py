"""Paths that are URLs of stores of objects."""

import re
from dataclasses import dataclass

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)/?(.*)")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_NAMES_OF_S3 = ("s3a", "s3n")
_MISTYPED = re.compile(r"(s3[an]?|gs|abfss?|wasbs?|hdfs|https?|file):/?([^/].*)", re.IGNORECASE)
"""What is no URL for want of slashes, and what nobody calls a folder."""


@dataclass(frozen=True, slots=True)
class StorageUrl:
    """The parts of `s3://bucket/key`."""

    scheme: str
    bucket: str
    key: str
    slashes: bool = True
    """Whether `//` is behind the scheme."""

    @property
    def problem(self) -> str | None:
        """Why it can't be read, with what to do; None: it can."""
        if not self.slashes:
            return f"`{self.scheme}:` has two slashes behind it: write `{self.scheme}://{self.bucket}/{self.key}`"
        if self.scheme in _NAMES_OF_S3:
            return f"`{self.scheme}://` is Hadoop's name of it: write `s3://{self.bucket}/{self.key}`"
        if self.scheme != "s3":
            return (
                f"`{self.scheme}://` is no store that is read: use one that speaks S3 (`s3://bucket/folder`, with "
                "`store.endpoint` if it is not Amazon's), or mount it as a folder"
            )
        if not _BUCKET.fullmatch(self.bucket):
            return f"`{self.bucket}` is no name of a bucket: 3 to 63 small letters, digits, dots and hyphens"
        if not plain_key(self.key):
            return "the path has `.`, `..` or empty parts, which keys of objects don't have: write it without"
        return None


def parse_storage_url(path: str) -> StorageUrl | None:
    """Return the parts of a path that is a URL; None of one that is a folder."""
    mistyped = _MISTYPED.fullmatch(path)
    if mistyped is not None:
        bucket, _, key = mistyped[2].partition("/")
        return StorageUrl(mistyped[1], bucket, key.removesuffix("/"), slashes=False)
    found = _URL.fullmatch(path)
    return None if found is None else StorageUrl(found[1], found[2], found[3].removesuffix("/"))


def plain_key(key: str) -> bool:
    """Return whether all parts of a key are names."""
    return not key or all(part not in ("", ".", "..") for part in key.split("/"))
