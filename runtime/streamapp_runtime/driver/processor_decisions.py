"""What the driver decides about processors: who is silent, who is affected by a new job model, when to try again."""

from dataclasses import dataclass

from streamapp_core.job_model.job_model import JobModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long the driver waits, in seconds, and how often it tries (design 9).

    `start`: until an incarnation reports for the first time; `report`: between two reports; `drain`: until it has made
    its last commit; `healthy`: after so long a failure is the first one again. A processor may fail `failures` times
    in a row; the first time it is started again at once, then after `shortest` seconds, then twice as long each time,
    at most `longest`. `away`: until a system that does not answer must be back.
    """

    start: float = 60.0
    report: float = 10.0
    drain: float = 10.0
    healthy: float = 60.0
    failures: int = 6
    shortest: float = 0.25
    longest: float = 10.0
    away: float = 300.0

    def pause(self, failures: int) -> float:
        """Tell how long to wait after so many failures in a row."""
        return 0.0 if failures <= 1 else min(self.shortest * 2 ** (failures - 2), self.longest)

    def is_silent(self, now: float, started: float, heard: float | None) -> bool:
        """Whether an incarnation that was last heard then (None: never) has been silent for too long."""
        return now - started > self.start if heard is None else now - heard > self.report


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """The failures of a processor in a row, and how far it had come (the offsets it had committed, added up)."""

    count: int = 0
    furthest: int = -1

    def another(self, *, committed: int, lived: float, patience: Timeouts) -> "Failures":
        """Count the end of an incarnation that lived so many seconds.

        One that came further than all before it, or lived long, was well: its failure is the first.
        """
        well = committed > self.furthest or lived >= patience.healthy
        return Failures(count=1 if well else self.count + 1, furthest=max(self.furthest, committed))


def affected(former: JobModel, new: JobModel) -> frozenset[str]:
    """Tell which processors must be drained, or started, when a job model follows another.

    If a task or a stream changed, that is everybody: all must expect the new producers. Else those whose tasks change,
    or their executor.
    """
    everybody = frozenset(former.processors) | frozenset(new.processors)
    partitions = [({name: task.ssps for name, task in model.tasks.items()}, model.streams) for model in (former, new)]
    if partitions[0] != partitions[1]:
        return everybody
    return frozenset(id_ for id_ in everybody if _work(former, id_) != _work(new, id_))


def _work(model: JobModel, processor: str) -> tuple[frozenset[str], str | None] | None:
    if processor not in model.processors:
        return None
    tasks = frozenset(name for name, task in model.tasks.items() if task.processor == processor)
    return tasks, model.processors[processor].executor
