"""The choices of the command line."""

from enum import StrEnum


class Output(StrEnum):
    """Forms of a plan: for people, for programs, for pictures."""

    TABLE = "table"
    JSON = "json"
    MERMAID = "mermaid"


class Host(StrEnum):
    """Where processors run."""

    SPARK = "spark"
    IN_PROCESS = "in-process"
