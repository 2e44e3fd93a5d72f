"""The journals of tables, which follow versions: where they are, what they are for, and what they can't take."""

import json
from pathlib import Path
from urllib.parse import quote

from streamapp_systems.protocols import StreamDescriptor, StreamSystemError


def version_journal(journals: Path, descriptor: StreamDescriptor) -> Path:
    """Return the journal of a table: the files that are read of its changes are in one of their own."""
    kind = "+changes" if descriptor.change_key else ""
    return journals / f"{quote(descriptor.address, safe='')}{kind}.db"


def version_layout(table_format: str, descriptor: StreamDescriptor) -> str:
    """Return what a journal is for: the version that it begins with, and whether its files are those with changes."""
    changes = {"changes": True} if descriptor.change_key else {}
    return json.dumps({"format": table_format, "startingVersion": descriptor.starting_version, **changes})


def refuse_changes(version: str, journal: Path) -> StreamSystemError:
    """Return why a version, as messages name it, can't be read as rows that are appended, and what to do."""
    return StreamSystemError(
        f"{version} changes or deletes rows, and a stream of a table has rows that are appended and stay. Stop the "
        f"apps that read the table, remove journal {journal}, and begin new runs, which read it as it is now; or, if "
        "rows have a key, declare the stream's `key` and `changes: upsert`"
    )
