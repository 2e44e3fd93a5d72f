"""Problems of a spec: the place, the reason, and the repair.

A problem is for the person who wrote the YAML. All problems of a spec are reported at once, sorted by path.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

PathPart = str | int


class ProblemCode(StrEnum):
    """The stable codes of problems; `docs/problems.md` has an example and a fix for each."""

    INVALID_SPEC = "InvalidSpec"
    INVALID_NAME = "InvalidName"
    DUPLICATE_NAME = "DuplicateName"
    UNKNOWN_SYSTEM = "UnknownSystem"
    UNKNOWN_STREAM = "UnknownStream"
    UNKNOWN_TABLE = "UnknownTable"
    UNKNOWN_COLUMN = "UnknownColumn"
    INVALID_EXPRESSION = "InvalidExpression"
    TYPE_MISMATCH = "TypeMismatch"
    SQL_UNSUPPORTED = "SqlUnsupported"
    STREAM_NOT_FOUND = "StreamNotFound"
    CYCLE = "Cycle"
    UNUSED_OPERATOR = "UnusedOperator"
    UNUSED_STREAM = "UnusedStream"
    UNUSED_TABLE = "UnusedTable"
    TABLE_NOT_FILLED = "TableNotFilled"
    OUTPUT_READ_BACK = "OutputReadBack"
    SIDE_INPUT_READ = "SideInputRead"
    JOIN_SIDES_EQUAL = "JoinSidesEqual"
    TERMINAL_OPERATOR = "TerminalOperator"
    JOIN_PARTITION_MISMATCH = "JoinPartitionMismatch"
    JOIN_KEY_MISMATCH = "JoinKeyMismatch"
    GROUP_KEY_MISMATCH = "GroupKeyMismatch"
    GROUP_PARTITION_MISMATCH = "GroupPartitionMismatch"
    MULTIPLICITY_MISMATCH = "MultiplicityMismatch"
    NOT_ALLOWED = "NotAllowed"
    NOT_SUPPORTED = "NotSupported"
    CHANGES_UNSUPPORTED = "ChangesUnsupported"
    TABLE_FILLED_TWICE = "TableFilledTwice"
    DELIVERY_UNSUPPORTED = "DeliveryUnsupported"
    RUN_ID_REQUIRED = "RunIdRequired"
    PARTITION_COUNT_SHRUNK = "PartitionCountShrunk"
    UNSUPPORTED_EXPANSION = "UnsupportedExpansion"
    EVENT_TIME_MISSING = "EventTimeMissing"
    GROUPER_UNSUPPORTED = "GrouperUnsupported"
    TOO_MANY_PARTITIONS = "TooManyPartitions"
    SPARK_PROPERTY_REFUSED = "SparkPropertyRefused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change of a document, as in JSON Patch (RFC 6902): `op` is add, replace or remove."""

    op: str
    pointer: str
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A change of the spec that removes a problem: the words for a person, the edits for a program."""

    text: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong: `path` points at what the user wrote (`spec.operators[3].from[0]`)."""

    path: str
    code: ProblemCode
    message: str
    repair: Repair | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.path}: {self.code}: {self.message}"


class WarningCode(StrEnum):
    """The stable codes of warnings about an accepted spec."""

    STATE_GROWS = "StateGrows"
    COMPARED_AS_NULL = "ComparedAsNull"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWarning:
    """Something an accepted spec should rarely say: `path` points at it, `repair` is what to write instead."""

    path: str
    code: WarningCode
    message: str
    repair: str

    def __str__(self) -> str:
        return f"{self.path}: {self.code}: {self.message}; {self.repair}"


def path_text(parts: Iterable[PathPart]) -> str:
    """Write a path as people read it: names joined by dots, list positions in brackets."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def sorted_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Order problems by path (list positions as numbers), then code and message; drop repetitions."""
    return tuple(sorted(set(problems), key=lambda p: (_path_key(p.path), p.code, p.message)))


def _path_key(path: str) -> tuple[tuple[int, int, str], ...]:
    parts = path.replace("[", ".").replace("]", "").split(".")
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)
