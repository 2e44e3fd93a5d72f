"""The faults of a simulation as they happen: whom they meet, and what they do."""

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Protocol

from simulation.deterministic_scheduler import Scheduler
from simulation.fault_schedules import (
    BEFORE_ALL_STEPS,
    Fault,
    FaultKind,
    asks_at_once,
    asks_for_fewer,
    forgets_markers,
    lets_through,
)
from simulation.faulty_network import BrokerService, FaultyNetwork, do_nothing
from simulation.kafka_requests import TopicPartition
from simulation.simulated_broker import forgets_nothing
from simulation.simulated_disk import Disk
from simulation.simulated_drivers import RUN_ID
from simulation.simulated_host import Worker
from simulation.simulated_log import SimulatedLog
from simulation.simulated_process import Machine, SimulatedProcess
from streamapp_core.naming import CHANGELOG

_MOST_PARTITIONS = 8


class DisturbedWorld(Protocol):
    """What faults meet."""

    scheduler: Scheduler
    service: BrokerService
    networks: Mapping[SimulatedProcess, FaultyNetwork]
    disk: Disk
    log: SimulatedLog
    machines: Sequence[Machine]
    workers: Collection[Worker]
    driver: SimulatedProcess | None
    processors: int
    choices: Random

    def start_another_driver(self) -> None:
        """Start a driver, though there may be one, where the app is run in such a way."""
        ...

    def scale(self, processors: int, *, at_once: bool) -> None:
        """Ask for so many processors: of the driver that there is, or perhaps of another one."""
        ...

    def edit(self) -> None:
        """Edit the spec: the next driver gets it."""
        ...

    def cut_documents(self, driver: SimulatedProcess, until: float) -> None:
        """Let a driver not reach the API server until a time."""
        ...

    def count_inputs(self) -> Mapping[str, int]:
        """Return the number of partitions of each input."""
        ...

    def expand_input(self, count: int) -> None:
        """Give the input so many partitions."""
        ...

    @property
    def may_grow(self) -> bool:
        """Whether results are right when the input gets more partitions."""
        ...

    @property
    def keeps_processors(self) -> bool:
        """Whether all processors that the run ever had are there, or come again."""
        ...


class FaultInjector:
    """Lets faults happen in a world."""

    def __init__(self, world: DisturbedWorld) -> None:
        self._world = world
        self._awaiting: list[tuple[Fault, int]] = []
        """Faults that meet a worker that starts, and how many they let through before."""

    def meet(self, worker: Worker) -> None:
        """Let a worker that starts meet the faults that await it."""
        for fault in [fault for fault, left in self._awaiting if not left]:
            self._world.scheduler.note(f"{worker.process.name} meets: {fault.kind}")
            _lie_in_wait(worker.process, fault)
        self._awaiting = [(fault, left - 1) for fault, left in self._awaiting if left]

    def inject(self, fault: Fault) -> None:
        """Let a fault happen now; if there is nobody whom it could meet, nothing happens."""
        world = self._world
        until = world.scheduler.now + fault.seconds
        world.scheduler.note(f"fault: {fault.kind}")
        match fault.kind:
            case FaultKind.KILL_MACHINE:
                machine = world.machines[fault.target % len(world.machines)]
                if world.log.is_used and fault.target % 2:
                    world.log.images.at_commit = lambda: self._power_off(machine)
                else:
                    self._power_off(machine)
            case FaultKind.GROW:
                self._grow()
            case FaultKind.SCALE:
                world.scale(_another_number(world.processors, fault.target), at_once=asks_at_once(fault.target))
            case FaultKind.ANOTHER_DRIVER:
                world.start_another_driver()
            case FaultKind.EDIT:
                world.edit()
            case FaultKind.KILL_BROKER:
                if world.keeps_processors and forgets_markers(fault.target):
                    world.service.after_end = lambda id_: self._forget_end(id_, fault)
                else:
                    self._kill_broker(fault.seconds, forgets_nothing)
            case FaultKind.SLOW_MARKERS:
                world.service.marker_seconds = fault.seconds / 4
                world.service.is_slow = _some_ids(fault.target)
                world.scheduler.at(until, self._hasten_markers)
            case FaultKind.KILL_STARTING_AT | FaultKind.PAUSE_STARTING_AT:
                self._awaiting.append((fault, lets_through(fault.target)))
            case (
                FaultKind.KILL_DRIVER
                | FaultKind.KILL_DRIVER_AT
                | FaultKind.PAUSE_DRIVER
                | FaultKind.CUT_DRIVER
                | FaultKind.CUT_DOCUMENTS
            ):
                if world.driver is not None and not world.driver.dead:
                    self._disturb_driver(world.driver, fault, until)
            case _:
                living = [worker for worker in world.workers if worker.living]
                if living:
                    self._disturb_worker(living[fault.target % len(living)], fault, until)

    def _disturb_driver(self, driver: SimulatedProcess, fault: Fault, until: float) -> None:
        match fault.kind:
            case FaultKind.KILL_DRIVER:
                driver.kill()
            case FaultKind.KILL_DRIVER_AT:
                driver.dies_at = _at_step(fault)
            case FaultKind.PAUSE_DRIVER:
                driver.pause(fault.seconds)
            case FaultKind.CUT_DOCUMENTS:
                self._world.cut_documents(driver, until)
            case _:
                self._world.networks[driver].cut_until = until

    def _disturb_worker(self, worker: Worker, fault: Fault, until: float) -> None:
        process, network = worker.process, self._world.networks[worker.process]
        match fault.kind:
            case FaultKind.KILL_WORKER:
                process.kill()
            case FaultKind.KILL_WORKER_AT | FaultKind.PAUSE_WORKER_AT:
                _lie_in_wait(process, fault)
            case FaultKind.PAUSE_WORKER:
                process.pause(fault.seconds)
            case FaultKind.CUT_REPORTS:
                worker.channel.cut_until = until
            case FaultKind.CUT_BROKER:
                network.cut_until = until
            case FaultKind.LOSE_ANSWERS:
                network.answers_lost_until, network.lost_share = until, 0.3
            case FaultKind.LATE_COMMITS:
                network.late_until = until
            case FaultKind.SLOW_WORKER:
                process.slowness = 20.0
                self._world.scheduler.at(until, lambda: setattr(process, "slowness", 1.0))
            case FaultKind.JUMP_CLOCK:
                process.seconds_off += (-1) ** fault.target * fault.seconds * 100

    def _grow(self) -> None:
        """Double the partitions of the input, where that may be."""
        world = self._world
        count = world.count_inputs().get("in", _MOST_PARTITIONS)
        if count < _MOST_PARTITIONS and world.may_grow:
            world.expand_input(2 * count)
            world.start_another_driver()

    def _power_off(self, machine: Machine) -> None:
        """Kill all of a machine's processes; what its disk had not synced is lost in part.

        Where streams are in a log, the machines are containers on one host, which loses power.
        """
        world = self._world
        lost = world.machines if world.log.is_used else [machine]
        for dark in lost:
            world.scheduler.note(f"{dark.name} loses power")
            dark.boots += 1
        for process in world.networks:
            if process.machine in lost:
                process.kill()
        names, all_of_them = {dark.name for dark in lost}, len(lost) == len(world.machines)
        world.disk.lose_power(world.choices, lambda path: all_of_them or not names.isdisjoint(path.parts))
        if world.log.is_used:
            world.log.lose_power(world.choices)

    def _kill_broker(self, seconds: float, forgets: Callable[[TopicPartition, bool], bool]) -> None:
        self._world.service.broker.die(forgets=forgets)
        self._world.scheduler.at(self._world.scheduler.now + seconds, self._restart_broker)

    def _forget_end(self, transactional_id: str, fault: Fault) -> None:
        """Kill the broker that has just ended a transaction of the app, and perhaps the workers, in their next ones."""
        world = self._world
        if f".{RUN_ID}" not in transactional_id:
            return
        world.service.after_end = do_nothing
        self._kill_broker(fault.seconds, _is_committed_between_tasks)
        for worker in world.workers:
            if worker.living and fault.step:
                worker.process.dies_at = _at_step(fault)

    def _restart_broker(self) -> None:
        self._world.service.broker.start()
        self._world.service.plan_markers()

    def _hasten_markers(self) -> None:
        self._world.service.is_slow = lambda _: False


def _is_committed_between_tasks(at: TopicPartition, commit: bool) -> bool:
    """Return whether a marker may be forgotten without a loss: the same processor ends its transaction later.

    Without the stores of a changelog nobody knows how it ended, in outputs nobody ends it, and what was aborted would
    be there (docs/kafka.md).
    """
    return commit and f".{RUN_ID}." in at.topic and not at.topic.endswith(CHANGELOG)


def _some_ids(target: int) -> Callable[[str], bool]:
    """Return which transactional ids have a slow coordinator: all, or those of every second processor."""
    if target % 3 == 0:
        return lambda _: True
    return lambda id_: id_[-1].isdigit() and int(id_[-1]) % 2 == target % 3 - 1


def _another_number(processors: int, target: int) -> int:
    """Return how many processors there are to be, at most four: rather fewer, since then nobody takes over some ids."""
    fewer, more = range(1, processors), range(processors + 1, 5)
    numbers = fewer if fewer and (asks_for_fewer(target) or not more) else more
    return numbers[target % len(numbers)]


def _lie_in_wait(process: SimulatedProcess, fault: Fault) -> None:
    """Let a process die or stand still at a step."""
    if fault.kind in (FaultKind.KILL_WORKER_AT, FaultKind.KILL_STARTING_AT):
        process.dies_at = _at_step(fault)
    elif fault.step == BEFORE_ALL_STEPS:
        process.pause(fault.seconds)
    else:
        process.pauses_at = (_at_step(fault), fault.seconds)


def _at_step(fault: Fault) -> Callable[[str], bool]:
    """Return what says of a step whether it is the one that the fault names."""
    left = fault.count

    def is_it(step: str) -> bool:
        nonlocal left
        left -= step.startswith(fault.step)
        return left <= 0

    return is_it
