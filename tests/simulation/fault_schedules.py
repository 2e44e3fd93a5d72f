"""Schedules of faults: what goes wrong, when and where. They follow from a seed, and shrink by leaving faults out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random


class FaultKind(StrEnum):
    """What may go wrong."""

    KILL_WORKER = "kill a worker"
    KILL_WORKER_AT = "kill a worker at a step"
    KILL_DRIVER = "kill the driver"
    KILL_DRIVER_AT = "kill the driver at a step"
    KILL_MACHINE = "power off a machine"
    PAUSE_WORKER = "pause a worker"
    PAUSE_WORKER_AT = "pause a worker at a step"
    PAUSE_DRIVER = "pause the driver"
    ANOTHER_DRIVER = "another driver is started while there is one"
    CUT_REPORTS = "cut a worker off from the driver"
    CUT_BROKER = "cut a worker off from the broker"
    CUT_DRIVER = "cut the driver off from the broker"
    LOSE_ANSWERS = "lose answers of the broker"
    LATE_COMMITS = "ends of transactions arrive late"
    SLOW_MARKERS = "markers are written late"
    KILL_BROKER = "the broker restarts"
    SLOW_WORKER = "a worker is slow"
    JUMP_CLOCK = "a clock jumps"
    GROW = "the input gets more partitions"
    SCALE = "another number of processors is asked for"


STEPS = {
    "EndTxn": 4,
    "AddPartitionsToTxn": 1,
    "Produce": 2,
    "InitProducerId": 2,
    "LMDB write": 4,
    "LMDB sync": 1,
    "stage": 1,
    "publish": 4,
    "fsync": 2,
    "fdatasync": 1,
    "rename": 2,
    "answer": 1,
    "Fetch": 1,
    "ListOffsets": 1,
}
"""The steps at which workers and drivers are killed and paused on purpose, and how often each is taken."""
_AT_STEPS = (FaultKind.KILL_WORKER_AT, FaultKind.PAUSE_WORKER_AT, FaultKind.KILL_DRIVER_AT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault `at` a time, in seconds, that lasts for `seconds`.

    `target` chooses whom it meets; some meet it only at the `count`th `step` of that name.
    """

    at: float
    kind: FaultKind
    target: int
    seconds: float
    step: str
    count: int

    def __str__(self) -> str:
        where = f"target {self.target}, {self.seconds:.2f} s, step {self.step} x {self.count}"
        return f"{self.at:8.3f} s: {self.kind} ({where})"


def make_faults(random: Random, until: float) -> tuple[Fault, ...]:
    """Make a schedule of faults up to a time; each seed prefers some kinds."""
    kinds = [*random.sample(list(FaultKind), random.randint(1, 5)), random.choice(_AT_STEPS)]
    return tuple(
        sorted(
            (
                Fault(
                    at=random.uniform(0.0, until),
                    kind=random.choice(kinds),
                    target=random.randrange(64),
                    seconds=random.choice([random.uniform(0.1, 2.0), random.uniform(2.0, 40.0)]),
                    step=random.choices(list(STEPS), list(STEPS.values()))[0],
                    count=random.choice([1, 1, 2, 3, 5]),
                )
                for _ in range(random.randint(0, 10))
            ),
            key=lambda fault: fault.at,
        )
    )


def shrink(faults: Sequence[Fault], fails: Callable[[tuple[Fault, ...]], bool]) -> tuple[Fault, ...]:
    """Leave out one fault after another while the simulation still fails without it."""
    kept = tuple(faults)
    for fault in faults:
        without = tuple(other for other in kept if other is not fault)
        if fails(without):
            kept = without
    return kept
