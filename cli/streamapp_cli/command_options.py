"""The choices of the command line."""

from enum import StrEnum


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
    """What becomes of the outputs of a replay."""

    RENAMED = "renamed"
    LIVE = "live"
