"""Objects of a store, S3's or one that is like it, as files of a folder are."""

from streamapp_systems.objects.files_made import FilesMade
from streamapp_systems.objects.object_path import ObjectPath, ObjectStat, Place
from streamapp_systems.objects.object_store import (
    ObjectBucket,
    check_conditional_copies,
    check_conditional_writes,
    open_place,
)
from streamapp_systems.objects.store_errors import ObjectChanged, explained_store_error

__all__ = [
    "FilesMade",
    "ObjectBucket",
    "ObjectChanged",
    "ObjectPath",
    "ObjectStat",
    "Place",
    "check_conditional_copies",
    "check_conditional_writes",
    "explained_store_error",
    "open_place",
]
