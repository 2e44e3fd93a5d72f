"""The choices of the command line."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

AppFile = Annotated[Path, typer.Argument(metavar="APP.yaml", help="The StreamApp resource.")]


class Output(StrEnum):
    """Forms of a plan: for people, for programs, for pictures."""

    TABLE = "table"
    JSON = "json"
    MERMAID = "mermaid"


class TableOutput(StrEnum):
    """Forms of a table: for people, for programs."""

    TABLE = "table"
    JSON = "json"


class RunOutput(StrEnum):
    """Forms of what a run prints: for people, for programs."""

    TEXT = "text"
    JSON = "json"


class Host(StrEnum):
    """The hosts of processors."""

    SPARK = "spark"
    PROCESSES = "processes"
    IN_PROCESS = "in-process"


class ReplayOutputs(StrEnum):
    """The outputs of a replay: its own, or those of the live app."""

    RENAMED = "renamed"
    LIVE = "live"
