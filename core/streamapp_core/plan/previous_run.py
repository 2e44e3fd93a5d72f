"""The previous state of a run, as far as a plan depends on it; the job model of the run is one."""

from collections.abc import Collection, Mapping
from typing import Protocol

from streamapp_core.spec.job import Grouper

PartitionKey = str | tuple[str, ...] | None
"""The key of an intermediate stream: a column, or several; None: broadcast."""
REMOVED = "removed"
"""Stands for the shape of a store that a run had once: it lies where it was, and has missed rows since."""


class PreviousStream(Protocol):
    """The partitions of a stream: when the run id first saw it, and in the previous plan."""

    @property
    def initial_partitions(self) -> int:
        """The partitions when the run id first saw it."""
        ...

    @property
    def partitions(self) -> int:
        """The partitions in the previous plan."""
        ...


class PreviousRun(Protocol):
    """The parts of a run that its next plan must keep (`job_model.JobModel` has them all)."""

    @property
    def run_id(self) -> str:
        """The id of the run."""
        ...

    @property
    def streams(self) -> Mapping[str, PreviousStream]:
        """Inputs, side inputs and intermediate streams."""
        ...

    @property
    def tasks(self) -> Collection[str]:
        """The names of its tasks."""
        ...

    @property
    def known_grouper(self) -> Grouper | None:
        """The grouper that made the tasks; None: not known."""
        ...

    @property
    def broadcast_writer_stream(self) -> str | None:
        """The stream that the task which writes broadcast rows is named by; None: by none."""
        ...

    @property
    def partition_keys(self) -> Mapping[str, PartitionKey]:
        """The key of every intermediate stream."""
        ...

    @property
    def transactional_ids(self) -> Collection[str]:
        """Every transactional id that the run ever used."""
        ...

    @property
    def stores(self) -> Mapping[str, str]:
        """The hash of the shape of every store, or `REMOVED`."""
        ...
