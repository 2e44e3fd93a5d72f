"""Tables as outputs: rows are staged with the app's commits, and a commit of a table adds those of many."""

from streamapp_systems.tables.file_joining import FileJoiner, JoinedFiles
from streamapp_systems.tables.output_table import (
    FoundTable,
    LiveFile,
    OpenAppended,
    OpenTables,
    OutputTable,
    TableFile,
    TableVersion,
    WrittenTable,
)
from streamapp_systems.tables.table_output import TableOutput, staging_folder

__all__ = [
    "FileJoiner",
    "FoundTable",
    "JoinedFiles",
    "LiveFile",
    "OpenAppended",
    "OpenTables",
    "OutputTable",
    "TableFile",
    "TableOutput",
    "TableVersion",
    "WrittenTable",
    "staging_folder",
]
