"""The version of a table of Delta that has joined files in the place of others, and changes no row."""

from collections.abc import Mapping, Sequence
from typing import Any

from streamapp_systems.folder.delta_log import DataFile
from streamapp_systems.tables import TableFile


def compaction_actions(
    old: Sequence[DataFile], new: Sequence[TableFile], version: int, now: int
) -> Sequence[Mapping[str, Any]]:
    """Return the actions that put new files in the place of old ones of a version; `now` is in milliseconds."""
    info = {
        "timestamp": now,
        "operation": "OPTIMIZE",
        "operationParameters": {"predicate": "[]"},
        "readVersion": version,
        "isolationLevel": "SnapshotIsolation",
        "isBlindAppend": False,
        "operationMetrics": {"numRemovedFiles": str(len(old)), "numAddedFiles": str(len(new))},
        "engineInfo": "StreamApp",
    }
    removed = [
        {
            "path": file.written,
            "deletionTimestamp": now,
            "dataChange": False,
            "extendedFileMetadata": True,
            "partitionValues": dict(file.values),
            "size": file.size,
        }
        for file in old
    ]
    added = [
        {
            "path": file.path,
            "partitionValues": dict(file.partition_values),
            "size": file.size,
            "modificationTime": file.modified,
            "dataChange": False,
            "stats": f'{{"numRecords": {file.rows}}}',
        }
        for file in new
    ]
    return [{"commitInfo": info}, *({"remove": file} for file in removed), *({"add": file} for file in added)]
