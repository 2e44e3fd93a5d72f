"""Folders whose files become more: each is a stream without an end, of a fixed number of partitions."""

from streamapp_systems.folder.admin import FolderAdmin
from streamapp_systems.folder.consumer import FolderConsumer
from streamapp_systems.folder.generations import Generation, Generations, StagedFile
from streamapp_systems.folder.growing_files import OpenStreams, open_version
from streamapp_systems.folder.growing_folder import GrowingFolder, growing_folders, journals_of
from streamapp_systems.folder.growing_generations import growing_generations
from streamapp_systems.folder.growing_table import GrowingTable, growing_tables

__all__ = [
    "FolderAdmin",
    "FolderConsumer",
    "Generation",
    "Generations",
    "GrowingFolder",
    "GrowingTable",
    "OpenStreams",
    "StagedFile",
    "growing_folders",
    "growing_generations",
    "growing_tables",
    "journals_of",
    "open_version",
]
