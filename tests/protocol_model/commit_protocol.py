"""A model of commits, fencing and handover (docs/protocols.md): all that matters of them, and nothing else.

One task reads numbered records, one a commit. A commit writes the record to the output and the new position to the
changelog, in one transaction. The task belongs to processor 0, and to processor 1 after a handover; each has a
transactional id, a machine with a store, and incarnations, some of them zombies.

Each step is one that may happen next: of a worker, of the driver, of the brokers, or a fault. Markers come late or
never, answers are lost, and a request to end a transaction may arrive whenever it likes. Who dies takes no further
step, and since each worker may stand still at any time, deaths are among what is visited.
"""

from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple


class Omission(Enum):
    """Steps of the protocols that can be left out; each must then be missed."""

    FENCE = "replace-1 and handover-3: the driver fences previous owners before it starts the next one"
    CONFIRM_AFTER_OPENING = (
        "processor-2 comes after processor-1: a worker asks whether it is current once it has the id"
    )
    NEW_EPOCH_AFTER_DOUBT = "after a doubtful end the next transaction has another epoch"
    ONE_TRANSACTION = "commit-3: output and checkpoint are in one transaction"
    STORE_FOLLOWS = "commit-5 comes after commit-3: stores commit what is committed"
    EXIT_WHEN_UNKNOWN = "who does not know whether a transaction was committed ends, or asks again"
    WAIT_UNTIL_READABLE = "task-2: a changelog is read when no transaction is open in it, and none hangs"


class Phase(Enum):
    """What a worker does next."""

    OPEN = auto()
    CONFIRM = auto()
    LOAD = auto()
    WRITE_OUTPUT = auto()
    WRITE_CHECKPOINT = auto()
    END = auto()
    END_AGAIN = auto()
    STORE = auto()
    DEAD = auto()


class DriverPhase(Enum):
    """What the driver does next."""

    WATCH = auto()
    FENCE = auto()
    START = auto()


class Bounds(NamedTuple):
    """How much may happen; `forgotten` are markers that brokers never write, since one died too soon."""

    records: int = 2
    incarnations: int = 2
    drivers: int = 2
    losses: int = 1
    forgotten: int = 0


class Id(NamedTuple):
    """A transactional id at the brokers: what is open under it, a position whose marker is due, or that hangs."""

    epoch: int = 0
    output: tuple[int, ...] = ()
    position: int | None = None
    marker: int | None = None
    hanging: int | None = None


class Worker(NamedTuple):
    """One incarnation; `epoch` is that of its producer, `position` how far it has come."""

    processor: int
    driver: int
    phase: Phase = Phase.OPEN
    epoch: int = -1
    position: int = -1
    doubtful: bool = False
    confirmed: bool = False


class Driver(NamedTuple):
    """The newest driver: whom it has started last (None: nobody is current), and who is to have the task next."""

    epoch: int = 1
    phase: DriverPhase = DriverPhase.START
    current: int | None = None
    owner: int = 0


class State(NamedTuple):
    """Everything at one moment."""

    ids: tuple[Id, Id] = (Id(), Id())
    output: tuple[int, ...] = ()
    position: int = 0
    stores: tuple[int, int] = (0, 0)
    workers: tuple[Worker, ...] = ()
    driver: Driver = Driver()
    late: frozenset[tuple[int, int]] = frozenset()
    """Requests to commit that are on their way: id and epoch."""
    losses: int = 0
    forgotten: int = 0


Steps = Iterator[tuple[str, State]]


def problem(state: State) -> str | None:
    """Return what is wrong with a state, if anything is."""
    if state.output != tuple(range(1, len(state.output) + 1)):
        return f"output {state.output}: a record is doubled, missing or out of order"
    decided = max([state.position, *(max(id_.marker or 0, id_.hanging or 0) for id_ in state.ids)])
    if decided != len(state.output):
        return f"the checkpoint is {decided}, the output has {len(state.output)} records"
    if max(state.stores) > decided:
        return f"a store is at {max(state.stores)}, ahead of its changelog at {decided}"
    return None


def next_states(state: State, bounds: Bounds, omitted: Omission | None = None) -> Steps:
    """Yield every step that may be next, with the state after it."""
    yield from _driver_steps(state, bounds, omitted)
    for number, worker in enumerate(state.workers):
        if worker.phase is not Phase.DEAD:
            for what, after in _worker_steps(state, number, worker, bounds, omitted):
                yield f"worker {number}: {what}", after
    for which, id_ in enumerate(state.ids):
        if id_.marker is not None:
            written = _with_id(state, which, id_._replace(marker=None))
            yield f"marker of id {which}", written._replace(position=id_.marker)
            if state.forgotten < bounds.forgotten:
                hanging = _with_id(state, which, id_._replace(marker=None, hanging=id_.marker))
                yield f"marker of id {which} is forgotten", hanging._replace(forgotten=state.forgotten + 1)
    for which, epoch in state.late:
        arrived = state._replace(late=state.late - {(which, epoch)})
        yield f"late end of id {which}, epoch {epoch}", _end(arrived, which, epoch) or arrived


def _driver_steps(state: State, bounds: Bounds, omitted: Omission | None) -> Steps:
    driver = state.driver
    more = len(state.workers) < bounds.incarnations
    if driver.phase is DriverPhase.WATCH and more:
        declared = driver._replace(phase=DriverPhase.FENCE, current=None)
        yield "driver: replaces the worker", state._replace(driver=declared)
        if driver.owner == 0:
            yield "driver: hands over", state._replace(driver=declared._replace(owner=1))
    if driver.epoch < bounds.drivers and more:
        another = driver._replace(epoch=driver.epoch + 1, phase=DriverPhase.FENCE, current=None)
        yield "another driver begins", state._replace(driver=another)
    if driver.phase is DriverPhase.FENCE:
        fenced = state
        for which in range(2) if omitted is not Omission.FENCE else ():
            fenced = fenced and _initialise(fenced, which)
        if fenced is not None:
            yield "driver: fences", fenced._replace(driver=driver._replace(phase=DriverPhase.START))
    if driver.phase is DriverPhase.START:
        started = Worker(driver.owner, driver.epoch, _first_phase(omitted))
        current = driver._replace(phase=DriverPhase.WATCH, current=len(state.workers))
        yield "driver: starts a worker", state._replace(driver=current, workers=(*state.workers, started))


def _first_phase(omitted: Omission | None) -> Phase:
    return Phase.CONFIRM if omitted is Omission.CONFIRM_AFTER_OPENING else Phase.OPEN


def _worker_steps(state: State, number: int, worker: Worker, bounds: Bounds, omitted: Omission | None) -> Steps:
    which, id_ = worker.processor, state.ids[worker.processor]
    fenced = worker.epoch != id_.epoch
    match worker.phase:
        case Phase.OPEN:
            opened = _initialise(state, which)
            if opened is not None:
                then = Phase.LOAD if worker.confirmed else Phase.CONFIRM
                yield "opens its producer", _with_worker(opened, number, then, epoch=opened.ids[which].epoch)
        case Phase.CONFIRM:
            then = Phase.LOAD if worker.position < 0 else Phase.WRITE_OUTPUT
            then = Phase.OPEN if worker.epoch < 0 else then
            if state.driver.current == number and state.driver.epoch == worker.driver:
                yield "is current", _with_worker(state, number, then, confirmed=worker.epoch < 0)
            else:
                yield "is not current", _with_worker(state, number, Phase.DEAD)
        case Phase.LOAD:
            settled = all(each.marker is each.position is each.hanging is None for each in state.ids)
            if settled or omitted is Omission.WAIT_UNTIL_READABLE:
                loaded = _with_worker(state, number, Phase.WRITE_OUTPUT, position=state.position)
                yield "restores its store", _with_store(loaded, which, state.position)
        case Phase.WRITE_OUTPUT if worker.position < bounds.records and id_.marker is id_.hanging is None:
            then = Phase.END if omitted is Omission.ONE_TRANSACTION else Phase.WRITE_CHECKPOINT
            written = _with_id(state, which, id_._replace(output=(*id_.output, worker.position + 1)))
            yield "writes output", _with_worker(state if fenced else written, number, Phase.DEAD if fenced else then)
        case Phase.WRITE_CHECKPOINT if id_.marker is id_.hanging is None:
            written = _with_id(state, which, id_._replace(position=worker.position + 1))
            if omitted is Omission.STORE_FOLLOWS:
                written = _with_store(written, which, worker.position + 1)
            yield (
                "writes its checkpoint",
                _with_worker(state if fenced else written, number, Phase.DEAD if fenced else Phase.END),
            )
        case Phase.END | Phase.END_AGAIN:
            yield from _ends(state, number, worker, bounds, omitted)
        case Phase.STORE:
            stored = _with_store(state, which, max(state.stores[which], worker.position + 1))
            then = (
                Phase.OPEN if worker.doubtful and omitted is not Omission.NEW_EPOCH_AFTER_DOUBT else Phase.WRITE_OUTPUT
            )
            yield (
                "commits its store",
                _with_worker(stored, number, then, position=worker.position + 1, doubtful=False, confirmed=False),
            )
        case _:
            return


def _ends(state: State, number: int, worker: Worker, bounds: Bounds, omitted: Omission | None) -> Steps:
    """Yield what may become of a request to commit."""
    which = worker.processor
    ended = _end(state, which, worker.epoch)
    again = worker.phase is Phase.END_AGAIN
    if again and omitted is Omission.EXIT_WHEN_UNKNOWN:
        fresh = _initialise(state, which)
        if fresh is not None:
            yield "does its work again", _with_worker(fresh, number, Phase.WRITE_OUTPUT, epoch=fresh.ids[which].epoch)
        return
    if again:
        yield "ends, as it does not know", _with_worker(state, number, Phase.DEAD)
    if ended is None:
        yield "is fenced", _with_worker(state, number, Phase.DEAD)
        return
    if state.ids[which].marker is None:
        then = Phase.WRITE_CHECKPOINT if _checkpoint_is_left(state, worker, omitted) else Phase.STORE
        yield "commits", _with_worker(ended, number, then, doubtful=worker.doubtful or again)
    if state.losses < bounds.losses:
        lossy = state._replace(losses=state.losses + 1)
        unknown = _with_worker(lossy, number, Phase.END_AGAIN)
        yield "commits, and the request is late", unknown._replace(late=lossy.late | {(which, worker.epoch)})
        yield (
            "commits, and the answer is lost",
            _with_worker(ended._replace(losses=lossy.losses), number, Phase.END_AGAIN),
        )


def _checkpoint_is_left(state: State, worker: Worker, omitted: Omission | None) -> bool:
    return omitted is Omission.ONE_TRANSACTION and state.ids[worker.processor].position is None


def _initialise(state: State, which: int) -> State | None:
    """Take over an id: what is open is aborted; None while a marker is not written yet."""
    id_ = state.ids[which]
    return None if id_.marker is not None else _with_id(state, which, Id(epoch=id_.epoch + 1, hanging=id_.hanging))


def _end(state: State, which: int, epoch: int) -> State | None:
    """Commit what is open under an id, whatever that is; None if the epoch is not the current one."""
    id_ = state.ids[which]
    if epoch != id_.epoch:
        return None
    if not id_.output and id_.position is None:
        return state
    decided = _with_id(state, which, id_._replace(output=(), position=None, marker=id_.position))
    return decided._replace(output=(*state.output, *id_.output))


def _with_id(state: State, which: int, id_: Id) -> State:
    ids = (id_, state.ids[1]) if which == 0 else (state.ids[0], id_)
    return state._replace(ids=ids)


def _with_store(state: State, which: int, position: int) -> State:
    stores = (position, state.stores[1]) if which == 0 else (state.stores[0], position)
    return state._replace(stores=stores)


def _with_worker(state: State, number: int, phase: Phase, **changes: object) -> State:
    changed = state.workers[number]._replace(phase=phase, **changes)
    return state._replace(workers=(*state.workers[:number], changed, *state.workers[number + 1 :]))
