"""Messages of intermediate streams: user data, and the control messages that flow between it.

See docs/control-messages.md.

Control messages speak for one task (version 1) or for many tasks of one processor (version 2, the one that is sent).
In memory both hold a tuple.
"""

from dataclasses import dataclass

from streamapp_core.ssp import Ssp

ONE_TASK, MANY_TASKS = 1, 2
"""The versions of control messages."""

END_OF_TIME = 2**63 - 1
"""The watermark of a stream or partition that has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """Rows, in the format of the stream."""

    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark:
    """No row with a lower event time follows from these tasks.

    Attributes:
        timestamps: (task name, event time in ms since 1970): at least one, exactly one in version 1.
        task_count: how many tasks produce to the stream, according to the sender's job model.
        idle: all inputs of these tasks are idle; the timestamps are their last ones.
        version: of the format.
    """

    timestamps: tuple[tuple[str, int], ...]
    task_count: int
    idle: bool = False
    version: int = MANY_TASKS


@dataclass(frozen=True, slots=True, kw_only=True)
class EndOfStream:
    """Nothing follows from these tasks. The other attributes are those of `Watermark`."""

    tasks: tuple[str, ...]
    task_count: int
    idle: bool = False
    version: int = MANY_TASKS


ControlMessage = Watermark | EndOfStream
Message = UserMessage | ControlMessage


class UndecodableMessageError(ValueError):
    """A record of an intermediate stream that can't be read; the text has its place and the reason."""

    def __init__(self, ssp: Ssp, offset: int, why: str) -> None:
        super().__init__(f"{ssp} at offset {offset}: {why}")
        self.ssp = ssp
        self.offset = offset


class MissingMessage(UndecodableMessageError):  # noqa: N818
    """A message that was sent before this one is not there, or this one comes twice."""

    def __init__(self, ssp: Ssp, offset: int, sender: str, number: int, expected: int) -> None:
        what = "those between are lost" if number > expected else "it comes again, as its sender's checkpoint is lost"
        super().__init__(
            ssp,
            offset,
            f"message {number} of {sender} in this partition comes where its message {expected} was expected: {what}, "
            "though they were committed, and results would be wrong. Brokers may lose records where a partition's only "
            "replica was away in a commit (docs/kafka.md), or somebody has deleted them. Start from the beginning with "
            "a new run (--fresh, or another spec.runId), and give topics between tasks three replicas",
        )


class UnknownMessageType(UndecodableMessageError):  # noqa: N818 - the name is part of the format
    """The type byte is none of the known ones: something else writes to the stream."""


class MalformedMessage(UndecodableMessageError):  # noqa: N818
    """The record is empty, or its data is not what the type byte promises."""


class UnsupportedVersion(UndecodableMessageError):  # noqa: N818
    """A control message of a version that is not known here: the writer is newer than the reader."""
