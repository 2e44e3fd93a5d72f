"""The locations that Iceberg's metadata names files by, as places."""

import re
from pathlib import Path

from streamapp_systems.objects import ObjectPath, Place
from streamapp_systems.protocols import StreamSystemError

_OBJECT = re.compile(r"s3[an]?://([^/]+)/?(.*)")
_FILE = re.compile(r"(?:file:(?://)?)?(/.*)")


def place_of(location: str, root: Place) -> Place:
    """Return the place of a location: a file of this machine, or an object of the bucket that the warehouse is in.

    Raises:
        StreamSystemError: it is elsewhere.
    """
    if isinstance(root, ObjectPath):
        found = _OBJECT.fullmatch(location)
        if found is not None and f"s3://{found[1]}" == root.bucket.url:
            return ObjectPath(root.bucket, found[2].removesuffix("/"))
    elif (found := _FILE.fullmatch(location)) is not None:
        return Path(found[1])
    raise StreamSystemError(
        f"`{location}` is not where warehouse {root} is, and only what is there is read: name a `path` in the "
        "same bucket, or on the same machine"
    )


def location_of(place: Place) -> str:
    """Return the location of a place in a warehouse."""
    return str(place) if isinstance(place, ObjectPath) else f"file://{place.absolute()}"
