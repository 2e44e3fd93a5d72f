"""Files: bounded inputs, one partition per file, and outputs in part files."""

from streamapp_systems.file.admin import FileAdmin
from streamapp_systems.file.consumer import FileConsumer
from streamapp_systems.file.file_output import FolderOutput
from streamapp_systems.file.output_folder import prepare_output, remove_leftovers

__all__ = ["FileAdmin", "FileConsumer", "FolderOutput", "prepare_output", "remove_leftovers"]
