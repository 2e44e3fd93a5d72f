"""Schedules of faults: what goes wrong, when and where. They follow from a seed, and shrink by leaving faults out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    KILL_STARTING_AT = "kill a worker that starts, at a step"
    PAUSE_STARTING_AT = "pause a worker that starts, at a step"
    PAUSE_DRIVER = "pause the driver"
    ANOTHER_DRIVER = "another driver is started while there is one"
    CUT_REPORTS = "cut a worker off from the driver"
    CUT_BROKER = "cut a worker off from the broker"
    CUT_DRIVER = "cut the driver off from the broker"
    CUT_DOCUMENTS = "cut the driver off from the API server"
    LOSE_ANSWERS = "lose answers of the broker"
    LATE_COMMITS = "ends of transactions arrive late"
    SLOW_MARKERS = "markers are written late"
    KILL_BROKER = "the broker restarts"
    SLOW_WORKER = "a worker is slow"
    JUMP_CLOCK = "a clock jumps"
    GROW = "the input gets more partitions"
    EDIT = "the spec is edited"
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
_START_STEPS = {
    "InitProducerId": 12,
    "report": 1,
    "answer": 1,
    "ListOffsets": 1,
    "Fetch": 2,
    "LMDB write": 2,
    "fsync": 1,
    "rename": 1,
    "publish": 1,
}
"""The steps of a worker that starts: how often each is taken."""
_COMMIT_STEPS = {"stage": 2, "AddPartitionsToTxn": 6, "Produce": 1, "EndTxn": 2, "publish": 1, "LMDB write": 1}
_LET_THROUGH = 3
"""One of so many workers that start is met by a fault that awaits one."""
_BEGINNERS_MET = 2
_AWAY_SECONDS = 11.0
_REPORTS_UNTIL_OPEN = 3
"""With this report a worker that starts says that its stores are open."""
BEFORE_ALL_STEPS = ""
"""In place of a step of a worker that starts: before all its steps."""
_AT_ONCE = 0.7
_BEGINNERS = 0.8
_STORIES_SHARE = 0.5
"""The share of schedules with a story: faults that only together meet what must not be met."""

_END_SHARE = 0.15
"""The share of schedules in which workers die while some partitions of the input have got their last rows."""
_POWER_SHARE = 0.15
"""The share of schedules in which a machine loses power while stores are open that were open before."""
_REOPENING = (FaultKind.KILL_WORKER, FaultKind.KILL_DRIVER, FaultKind.KILL_MACHINE, FaultKind.SCALE, FaultKind.EDIT)


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


def make_faults(random: Random, until: float, *, several: bool = False) -> tuple[Fault, ...]:
    """Make a schedule of faults up to a time; each seed prefers some kinds, and some seeds have a story as well.

    `several`: a driver may be started while another one lives.
    """
    kinds = [*random.sample(list(FaultKind), random.randint(1, 5)), random.choice(_AT_STEPS)]
    told = random.random() < _STORIES_SHARE
    faults = [
        Fault(
            at=random.uniform(0.0, until),
            kind=random.choice(kinds),
            target=random.randrange(64),
            seconds=random.choice([random.uniform(0.1, 2.0), random.uniform(2.0, 40.0)]),
            step=random.choices(list(STEPS), list(STEPS.values()))[0],
            count=random.choice([1, 1, 2, 3, 5]),
        )
        for _ in range(random.randint(0, 3 if told else 10))
    ]
    if told:
        stories = _STORIES_OF_DRIVERS if several and random.random() < _DRIVERS_SHARE else _STORIES
        faults += random.choice(stories)(random, random.uniform(2.5, 0.35 * until))
    if random.random() < _END_SHARE:
        faults += _deaths_near_the_end(random, until)
    if random.random() < _POWER_SHARE:
        faults += _loss_of_power_after_a_reopen(random, random.uniform(2.5, 0.35 * until))
    return tuple(sorted(faults, key=lambda fault: fault.at))


def make_log_faults(random: Random, until: float, *, several: bool) -> tuple[Fault, ...]:
    """Make faults that meet transactions of an embedded log while they are written.

    `several`: workers are in containers of their own, so that one may stand still until its tasks have other owners.
    """
    faults = []
    for _ in range(random.randint(1, 3)):
        kind = random.choice([FaultKind.KILL_WORKER_AT, FaultKind.KILL_WORKER_AT, FaultKind.KILL_MACHINE])
        fault = _aimed(random, random.uniform(2.5, 0.7 * until), kind, 0.0, {"EndTxn": 1})
        faults.append(replace(fault, count=random.randint(2, 12)))
    if several:
        faults += _standstill_in_a_commit(random, random.uniform(2.5, 0.5 * until), {"EndTxn": 1})
    return tuple(faults)


def make_last_restart(random: Random, until: float) -> Fault:
    """Make a broker restart when the last rows have been written: what it forgets, no later row ends."""
    at, lasting = until + random.uniform(-0.5, 1.5), random.uniform(0.5, 3.0)
    return Fault(at=at, kind=FaultKind.KILL_BROKER, target=1, seconds=lasting, step="", count=1)


def make_forgotten_commit(random: Random) -> Fault:
    """Make a broker forget that it has committed a transaction between tasks, and processors die in their next ones.

    Their successors abort what hangs there, and with it the rows of both.
    """
    at, lasting, count = random.uniform(4.0, 20.0), random.uniform(0.5, 3.0), random.randint(1, 3)
    return Fault(at=at, kind=FaultKind.KILL_BROKER, target=1, seconds=lasting, step="Produce", count=count)


def make_beginner_faults(random: Random, until: float) -> tuple[Fault, ...]:
    """Make workers stand still before they take their ids; they go on beside those of their driver's successor.

    One of them is a new processor, which the successor does not have: nobody takes its id from it. Its driver does not
    know of the successor. So only the worker itself can find out that others have its tasks.
    """
    at, lasting = random.uniform(2.5, 0.4 * until), random.uniform(9.0, 13.0)
    begin = _aimed(random, at - 0.1, FaultKind.PAUSE_STARTING_AT, lasting, {BEFORE_ALL_STEPS: 1, "InitProducerId": 1})
    cut, lasting = at + random.uniform(2.0, 3.0), random.uniform(20.0, 30.0)
    return (
        *(replace(begin, target=others) for others in range(_BEGINNERS_MET)),
        _rescale(random, at, at_once=True, fewer=False),
        _aimed(random, cut, FaultKind.CUT_DOCUMENTS, lasting),
        _aimed(random, cut, FaultKind.CUT_DRIVER, lasting),
        _rescale(random, cut + random.uniform(0.1, 0.5), at_once=False),
    )


def make_declared_dead_faults(random: Random) -> tuple[Fault, ...]:
    """Make workers stand still before all their steps; their driver declares them dead and gives their tasks to others.

    They take their ids when they go on: only the answers to their reports end them.
    """
    at = random.uniform(2.5, 10.0)
    begin = _aimed(random, at - 0.1, FaultKind.PAUSE_STARTING_AT, random.uniform(17.0, 24.0), {BEFORE_ALL_STEPS: 1})
    return (
        *(replace(begin, target=others) for others in range(_BEGINNERS_MET)),
        _rescale(random, at, at_once=True, fewer=False),
        _rescale(random, at + random.uniform(1.5, 3.0), at_once=True),
    )


def make_aging_faults(random: Random) -> tuple[Fault, ...]:
    """Make a worker be away twice; in between it opens its stores, and dies.

    Its stores are young enough to be used again after the first time, but not after both: the deletion of what was
    deleted meanwhile is forgotten then.
    """
    at = random.uniform(3.0, 4.5)
    away = _aimed(random, at - 0.1, FaultKind.PAUSE_STARTING_AT, _AWAY_SECONDS, {BEFORE_ALL_STEPS: 1})
    dies = _aimed(random, at - 0.1, FaultKind.KILL_STARTING_AT, 0.0, {"report": 1})
    return (
        replace(away, target=0),
        replace(dies, target=0, count=_REPORTS_UNTIL_OPEN),
        replace(away, target=1),
        _aimed(random, at, FaultKind.KILL_WORKER, 0.0),
    )


def _standstill_in_a_start(random: Random, at: float) -> list[Fault]:
    """A worker stands still while it starts, until its tasks have other owners."""
    kind = random.choice([FaultKind.PAUSE_STARTING_AT, FaultKind.PAUSE_STARTING_AT, FaultKind.KILL_STARTING_AT])
    return [
        _aimed(random, at, kind, random.uniform(5.0, 14.0), _START_STEPS),
        _rescale(random, at + 0.1, at_once=True, fewer=False),
        _rescale(random, at + random.uniform(2.0, 5.0), at_once=True),
    ]


def _standstill_in_a_commit(random: Random, at: float, steps: Mapping[str, int] = _COMMIT_STEPS) -> list[Fault]:
    """A worker stands still while it commits, until its tasks have other owners."""
    return [
        _aimed(random, at, FaultKind.PAUSE_WORKER_AT, random.uniform(11.0, 17.0), steps),
        _rescale(random, at + random.uniform(0.1, 3.0), at_once=random.random() < _AT_ONCE),
    ]


def _handover_before_the_markers(random: Random, at: float) -> list[Fault]:
    """Tasks get other owners while what their last ones committed can't be read yet."""
    return [
        _aimed(random, at, FaultKind.SLOW_MARKERS, random.uniform(5.0, 25.0)),
        _rescale(random, at + random.uniform(0.5, 2.0), at_once=random.random() < _AT_ONCE),
    ]


def _driver_behind_the_times(random: Random, at: float) -> list[Fault]:
    """A driver does not know of its successor, and its workers go on; one of them only begins."""
    lasting = random.uniform(10.0, 30.0)
    cut = random.choice([(FaultKind.CUT_DOCUMENTS, FaultKind.CUT_DRIVER)] * 2 + [(FaultKind.CUT_DOCUMENTS,)])
    kinds = random.choice([cut, cut, cut, (FaultKind.PAUSE_DRIVER,)])
    faults = [
        *(_aimed(random, at, kind, lasting) for kind in kinds),
        _rescale(random, at + random.uniform(0.3, 1.0), at_once=False),
    ]
    if random.random() < _BEGINNERS:
        faults += [
            _aimed(random, at - 2.1, FaultKind.PAUSE_STARTING_AT, random.uniform(3.0, 8.0), {"InitProducerId": 1}),
            _rescale(random, at - 2.0, at_once=True, fewer=False),
        ]
    return faults


def _two_drivers(random: Random, at: float) -> list[Fault]:
    """A driver and its workers go on beside its successor, which asks for fewer of them."""
    lasting = random.uniform(12.0, 25.0)
    alone = random.choice([(FaultKind.CUT_DOCUMENTS, FaultKind.CUT_DRIVER), (FaultKind.PAUSE_DRIVER,)])
    return [
        *(_aimed(random, at, kind, lasting) for kind in alone),
        _rescale(random, at + random.uniform(0.3, 1.0), at_once=False),
    ]


def _driver_lost_while_a_worker_begins(random: Random, at: float) -> list[Fault]:
    """A worker stands still while it starts; its driver dies, and the next one gives its tasks to others."""
    begins = _aimed(random, at, FaultKind.PAUSE_STARTING_AT, random.uniform(6.0, 10.0), {"InitProducerId": 1})
    dies = at + random.uniform(1.0, 3.0)
    return [
        replace(begins, target=0),
        _rescale(random, at + 0.1, at_once=True, fewer=False),
        _aimed(random, dies, FaultKind.KILL_DRIVER, 0.0),
        _rescale(random, dies + random.uniform(1.0, 3.0), at_once=True),
    ]


def _deaths_near_the_end(random: Random, until: float) -> list[Fault]:
    """A worker or two die when some partitions have had their last rows and others have not."""
    times = [random.uniform(until - 2.5, until) for _ in range(random.randint(1, 2))]
    return [_aimed(random, at, FaultKind.KILL_WORKER, 0.0) for at in times]


def _loss_of_power_after_a_reopen(random: Random, at: float) -> list[Fault]:
    """A machine loses power while its stores are open again, and were changed since they were last synced."""
    faults = [_aimed(random, at, random.choice(_REOPENING), 0.0)]
    for _ in range(random.randint(1, 3)):
        at += random.uniform(0.5, 6.0)
        faults.append(_aimed(random, at, FaultKind.KILL_MACHINE, 0.0))
    return faults


_STORIES = (
    _standstill_in_a_start,
    _standstill_in_a_start,
    _standstill_in_a_commit,
    _standstill_in_a_commit,
    _handover_before_the_markers,
    _driver_lost_while_a_worker_begins,
)
_STORIES_OF_DRIVERS = (_driver_behind_the_times, _two_drivers)
_DRIVERS_SHARE = 0.7
"""The share of these among the stories of apps that may have several drivers."""


def _aimed(
    random: Random, at: float, kind: FaultKind, seconds: float, steps: Mapping[str, int] = _START_STEPS
) -> Fault:
    step = random.choices(list(steps), list(steps.values()))[0]
    return Fault(at=at, kind=kind, target=random.randrange(64), seconds=seconds, step=step, count=1)


def _rescale(random: Random, at: float, *, at_once: bool, fewer: bool = True) -> Fault:
    """Return a change of the number of processors."""
    fits = [number for number in range(64) if (asks_for_fewer(number), asks_at_once(number)) == (fewer, at_once)]
    return Fault(at=at, kind=FaultKind.SCALE, target=random.choice(fits), seconds=0.0, step="", count=1)


def lets_through(target: int) -> int:
    """Return how many workers that start the fault with this target lets through before it meets one."""
    return target % _LET_THROUGH


def asks_for_fewer(target: int) -> bool:
    """Return whether the fault `SCALE` with this target asks for fewer processors, if there are several."""
    return target % 3 != 0


def asks_at_once(target: int) -> bool:
    """Return whether the fault `SCALE` with this target asks the driver that there is."""
    return target % 2 == 0


def forgets_markers(target: int) -> bool:
    """Return whether the broker that the fault `KILL_BROKER` with this target meets forgets how transactions ended."""
    return target % 2 == 1


def shrink(faults: Sequence[Fault], fails: Callable[[tuple[Fault, ...]], bool]) -> tuple[Fault, ...]:
    """Leave out one fault after another while the simulation still fails without it."""
    kept = tuple(faults)
    for fault in faults:
        without = tuple(other for other in kept if other is not fault)
        if fails(without):
            kept = without
    return kept
