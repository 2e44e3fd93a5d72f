"""The shard of a stream that a task reads: system, stream, partition."""

from typing import NamedTuple


class Ssp(NamedTuple):
    """One partition of one stream in one system (system-stream-partition).

    Sorts by system, then stream, then partition number.
    """

    system: str
    stream: str
    partition: int

    def __str__(self) -> str:
        return f"{self.system}.{self.stream}[{self.partition}]"
