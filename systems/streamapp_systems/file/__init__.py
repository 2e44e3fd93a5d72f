"""Files: bounded inputs, one partition per file, and outputs in part files."""

from streamapp_systems.file.admin import FileAdmin
from streamapp_systems.file.consumer import FileConsumer
from streamapp_systems.file.file_output import FileOutput, Rolling
from streamapp_systems.file.file_versions import (
    FileStat,
    FileVersion,
    take_file_stats,
    take_file_version,
    take_file_versions,
)
from streamapp_systems.file.missing_files import explain_missing_files
from streamapp_systems.file.output_folder import (
    claim_output,
    joined_drafts,
    published_parts,
    remove_parts,
    staged_parts,
)
from streamapp_systems.file.partition_files import partition_files

__all__ = [
    "FileAdmin",
    "FileConsumer",
    "FileOutput",
    "FileStat",
    "FileVersion",
    "Rolling",
    "claim_output",
    "explain_missing_files",
    "joined_drafts",
    "partition_files",
    "published_parts",
    "remove_parts",
    "staged_parts",
    "take_file_stats",
    "take_file_version",
    "take_file_versions",
]
