"""One simulation: an app with its driver, workers, broker and disks, under faults, in one process and from one seed."""

import hashlib
import logging
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from simulation.deterministic_scheduler import Scheduler, SimulationStuck
from simulation.expected_results import wrong_results
from simulation.fault_injector import FaultInjector
from simulation.fault_schedules import (
    Fault,
    FaultKind,
    make_aging_faults,
    make_beginner_faults,
    make_declared_dead_faults,
    make_faults,
    make_forgotten_commit,
    make_last_restart,
    make_log_faults,
)
from simulation.faulty_network import BrokerService, FaultyNetwork
from simulation.input_writer import InputWriter, count_inputs
from simulation.kafka_requests import CreatePartitions
from simulation.numbered_app import NAME, AppShape
from simulation.outside_producer import OutsideProducer
from simulation.result_reader import ResultReader
from simulation.simulated_disk import Disk, simulated_disks
from simulation.simulated_drivers import EXPECTED, DriverLauncher, KubernetesLauncher, LocalLauncher
from simulation.simulated_host import Surroundings, Worker
from simulation.simulated_log import SimulatedLog
from simulation.simulated_process import Machine, SimulatedProcess
from simulation.simulated_systems import SimulatedSystems
from streamapp_core.control.messages import MissingMessage
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.verify_run import verify_run
from streamapp_runtime.errors import Drained, RuntimeFailure
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_systems.protocols import StreamSystemError

_FAULT_SECONDS = 25.0
_PATIENCE_SECONDS = 400.0
"""How long after the last fault the app may take to come to its end."""
_REOPENING_SECONDS = 15.0
"""How long stores may take to be open again after a loss of power: a log can be read at once, so results don't tell."""
_BEGINNERS_EVERY = 10
"""One of so many schedules, if it has several drivers, is that of workers that begin beside a driver's successor."""
_DECLARED_DEAD_EVERY, _DECLARED_DEAD, _FEWEST_PARTITIONS = 25, 2, 4
"""One of so many schedules, if its app has so many partitions, is that of workers declared dead before they begin."""
_AGING_EVERY, _AGING = 30, 3
"""One of so many schedules, if its streams are in Kafka, has a table whose store gets too old."""
_FORGOTTEN_EVERY, _FORGOTTEN = 30, 11
"""One of so many schedules, if its streams are in Kafka, has a broker that forgets a commit, which is then aborted."""
_LAST_RESTART_EVERY, _LAST_RESTART = 7, 5
"""One of so many schedules, if its streams are in Kafka, has a broker that restarts behind the last rows."""
_REACHING_SHARE, _REFUSING_SHARE = 0.4, 0.5
_MOST_TURNS = 1_000_000
_CHECK_SECONDS = 2.0
_COMPACTION_SECONDS = 1.0
_SILENCING = {FaultKind.KILL_BROKER, FaultKind.SLOW_MARKERS}
"""Faults that stop the writer of the input."""


class WrongResult(Exception):  # noqa: N818 - what was found
    """The app gave a result that it must not give, or did not give one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of a simulation: what was wrong (None: nothing), and its trace."""

    seed: int
    faults: tuple[Fault, ...]
    shape: AppShape
    problem: str | None
    seconds: float
    trace: Sequence[tuple[float, str, str]]

    @property
    def digest(self) -> str:
        """A number that two runs share only if each did the same."""
        return hashlib.sha256(repr(self.trace).encode()).hexdigest()[:16]


def simulate(seed: int, faults: tuple[Fault, ...] | None = None) -> Outcome:
    """Run the simulation of a seed; with other faults than its own, if they are given."""
    logging.disable(logging.CRITICAL)
    chosen = faults_of(seed) if faults is None else faults
    shape = shape_of(seed)
    folder = Path(tempfile.mkdtemp(prefix="simulation-", dir=_memory()))
    try:
        world = _World(seed, shape, chosen, folder)
        with simulated_disks(world.current_process, lambda _: world.disk):
            problem = world.run()
        world.log.close()
        return Outcome(
            seed=seed,
            faults=chosen,
            shape=shape,
            problem=problem,
            seconds=world.scheduler.now,
            trace=[(at, who, what.replace(str(folder), "")) for at, who, what in world.scheduler.trace],
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        logging.disable(logging.NOTSET)


def faults_of(seed: int) -> tuple[Fault, ...]:
    """Return the faults of a seed."""
    faults, shape = _faults_of(seed), shape_of(seed)
    if shape.embedded:
        faults += make_log_faults(Random(f"log faults {seed}"), _FAULT_SECONDS, several=shape.containers)
    elif seed % _LAST_RESTART_EVERY == _LAST_RESTART and not shape.idle:
        faults += (make_last_restart(Random(f"last restart {seed}"), _FAULT_SECONDS),)
    return tuple(sorted(faults, key=lambda fault: fault.at))


def _faults_of(seed: int) -> tuple[Fault, ...]:
    random, shape = Random(f"faults {seed}"), _shape_of(seed)
    several, partitions = shape.kubernetes, shape.tasks
    if shape.aging:
        return make_aging_faults(random)
    if seed % _DECLARED_DEAD_EVERY == _DECLARED_DEAD and partitions >= _FEWEST_PARTITIONS:
        return make_declared_dead_faults(random)
    if seed % _FORGOTTEN_EVERY == _FORGOTTEN and not shape.embedded:
        return (make_forgotten_commit(random),)
    if several and seed % _BEGINNERS_EVERY == _BEGINNERS_EVERY - 1:
        return make_beginner_faults(random, _FAULT_SECONDS)
    return make_faults(random, _FAULT_SECONDS, several=several)


def _shape_of(seed: int) -> AppShape:
    shape = AppShape.of(Random(f"shape {seed}"))
    if seed % _AGING_EVERY == _AGING and not shape.embedded:
        return replace(shape, aging=True, table=True, outside=False)
    return shape


def shape_of(seed: int) -> AppShape:
    """Return the app of a seed; there are idle timeouts only where nothing stops the writer of the input."""
    shape = _shape_of(seed)
    return replace(shape, idle=shape.idle and not _SILENCING & {fault.kind for fault in _faults_of(seed)})


def _memory() -> str | None:
    """Return a folder in memory, if there is one: nothing here has to survive."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


class _World(Surroundings):
    """All that there is in one simulation."""

    def __init__(self, seed: int, shape: AppShape, faults: tuple[Fault, ...], folder: Path) -> None:
        choices = Random(f"world {seed}")
        count = choices.choice([1, 2, 3, 3])
        if shape.embedded:
            count = max(count, 2) if shape.containers else 1
        machines = [Machine(f"machine-{n}") for n in range(count)]
        super().__init__(
            machines,
            reaches=len(machines) == 1 or (choices.random() < _REACHING_SHARE and not shape.containers),
            refuses=choices.random() < _REFUSING_SHARE and not shape.containers,
            processors=shape.processors,
        )
        self.shape = shape
        self.folder = folder
        self.disk = Disk(folder, Random(f"disk {seed}"))
        self.log = SimulatedLog(folder)
        self.scheduler = Scheduler(
            Random(f"scheduler {seed}"), longest=_FAULT_SECONDS + _PATIENCE_SECONDS, most_turns=_MOST_TURNS
        )
        self.service = BrokerService(self.scheduler)
        self.networks: dict[SimulatedProcess, FaultyNetwork] = {}
        self.driver: SimulatedProcess | None = None
        self._seed = seed
        self.choices = choices
        self._faults = faults
        self._last_fault = max((fault.at + fault.seconds for fault in faults), default=0.0)
        self._source_written = False
        self._done = False
        self._drivers = 0
        self._edited = False
        self._impatient = False
        """Whether another driver is to be started, though there is one."""
        self._results = ResultReader(shape.outputs, self.service.broker.topics)
        self._launcher = self._make_launcher()
        self._injector = FaultInjector(self)

    def current_process(self) -> SimulatedProcess | None:
        """Return the process whose thread runs now."""
        owner = self.scheduler.current.owner
        return owner if isinstance(owner, SimulatedProcess) else None

    def run(self) -> str | None:
        """Run it to its end and return what was wrong."""
        user = SimulatedProcess("user", self.machines[0], self.scheduler)
        source = SimulatedProcess("source", Machine("elsewhere"), self.scheduler)
        self._writer = InputWriter(self.shape, self.service, self.log, source, self._seed, seconds=_FAULT_SECONDS)
        self.scheduler.start("source", lambda: self._write_input(user), source)
        for fault in self._faults:
            self.scheduler.at(fault.at, lambda fault=fault: self._injector.inject(fault))
        self.scheduler.at(_CHECK_SECONDS, self._check)
        if self.shape.aging:
            self.scheduler.at(_COMPACTION_SECONDS, self._compact)
        try:
            self.scheduler.run()
        except (WrongResult, SimulationStuck) as problem:
            progress = self._progress() if isinstance(problem, SimulationStuck) else ""
            return f"{problem} {progress}".strip()
        except Exception as error:  # noqa: BLE001 - a defect of what is simulated, or of the simulation
            return _traceback(error)
        return None

    # what hosts ask for

    def place(self, processor: str) -> Machine:
        """See `Surroundings.place`."""
        return self.choices.choice(self.machines)

    def make_process(self, name: str, machine: Machine) -> SimulatedProcess:
        """See `Surroundings.make_process`."""
        process = SimulatedProcess(name, machine, self.scheduler)
        self.networks[process] = FaultyNetwork(process, self.service)
        return process

    def context_of(self, process: SimulatedProcess) -> ExecutionContext:
        """See `Surroundings.context_of`."""
        context = process.context(SimulatedSystems(self.folder, process, self.networks[process], self.log), self._seed)
        return replace(context, results_at_once=self.shape.results_at_once)

    def note_started(self, worker: Worker) -> None:
        """See `Surroundings.note_started`."""
        super().note_started(worker)
        self._injector.meet(worker)

    # what faults ask for

    def start_another_driver(self) -> None:
        """See `DisturbedWorld.start_another_driver`."""
        self._impatient = self._launcher.several

    def scale(self, processors: int, *, at_once: bool) -> None:
        """See `DisturbedWorld.scale`."""
        self.processors = processors
        self._impatient |= self._launcher.scale(at_once=at_once)

    def edit(self) -> None:
        """See `DisturbedWorld.edit`."""
        self._edited = True
        self.start_another_driver()

    def cut_documents(self, driver: SimulatedProcess, until: float) -> None:
        """See `DisturbedWorld.cut_documents`."""
        self._launcher.cut_documents(driver, until)

    @property
    def may_grow(self) -> bool:
        """See `DisturbedWorld.may_grow`: rows of windows may be late then (docs/expansion.md)."""
        return not self.shape.timed

    @property
    def keeps_processors(self) -> bool:
        """See `DisturbedWorld.keeps_processors`: one without tasks is done after its first commit."""
        return self.shape.processors <= self.shape.tasks and all(
            fault.kind is not FaultKind.SCALE for fault in self._faults
        )

    # the people around the app

    def _write_input(self, user: SimulatedProcess) -> None:
        """Write the input; the user starts the app as soon as its streams are there."""
        self._writer.create()
        self.scheduler.start("user", lambda: self._supervise(user), user)
        if self.shape.outside:
            process = SimulatedProcess("outside", Machine("elsewhere"), self.scheduler)
            outside = OutsideProducer(self.shape, self.service, process, Random(f"outside {self._seed}"))
            self.scheduler.start(process.name, lambda: outside.run(self.count_inputs(), _FAULT_SECONDS), process)
        self._writer.write()
        self._source_written = True

    def _make_launcher(self) -> DriverLauncher:
        if not self.shape.kubernetes:
            return LocalLauncher(self._text, self.folder, self)
        return KubernetesLauncher(self._text, self.count_inputs, self.folder, self)

    def _text(self) -> str:
        return self.shape.document(edited=self._edited)

    def count_inputs(self) -> dict[str, int]:
        """See `DisturbedWorld.count_inputs`."""
        return count_inputs(self.shape, self.service, self.log)

    def expand_input(self, count: int) -> None:
        """See `DisturbedWorld.expand_input`."""
        if self.shape.embedded:
            self.log.expand("in", count)
        else:
            self.service.handle(CreatePartitions(topic=f"{NAME}.in", partitions=count))

    def _supervise(self, user: SimulatedProcess) -> None:
        """Start the app, again and again until its results are complete and it was drained.

        Where a broker has lost messages between tasks, the app may say so instead.
        """
        while True:
            self._drivers += 1
            self._impatient = False
            drive = self._launcher.prepare()
            ended: list[Exception | None] = []
            process = self.make_process(f"driver-{self._drivers}", self.machines[0])
            self.driver = process
            thread = self.scheduler.start(
                process.name, lambda p=process, d=drive, e=ended: e.append(self._drive(d, p)), process
            )
            while not (thread.ended or self._impatient):
                self.scheduler.wait(self.scheduler.now + 0.1)
            if ended and isinstance(ended[0], MissingMessage):
                self._raise_if_wrong(complete=False)
                self.scheduler.stop()
                return
            if self._done and ended and (ended[0] is None or isinstance(ended[0], Drained)):
                break
            self.scheduler.wait(self.scheduler.now + self.choices.expovariate(1.0))
        self._results = ResultReader(self.shape.outputs, self.service.broker.topics)  # all of them once more
        self.log.forget_results()
        self._raise_if_wrong(complete=True)
        self._verify_states(user)
        self.scheduler.stop()

    def _drive(
        self, drive: Callable[[SimulatedProcess, Callable[[], bool]], bool], process: SimulatedProcess
    ) -> Exception | None:
        """Run a driver to its end; raise what it must not end with, and return what it may."""
        error: Exception | None = None
        try:
            if drive(process, lambda: self._done):
                raise WrongResult("the run says that it has completed, but its input has no end")
        except EXPECTED as expected:
            error = expected
        except MissingMessage as missing:
            if not self.service.broker.has_forgotten:
                raise WrongResult(f"no broker has lost a message: {missing}") from missing
            error = missing
        except (StreamSystemError, RuntimeFailure) as failure:
            raise WrongResult(f"the run fails: {type(failure).__name__}: {failure}") from failure
        self.scheduler.note(f"the driver ends: {type(error).__name__}: {error}"[:300])
        process.kill()
        return error

    # what is checked

    def _check(self) -> None:
        """Look at the results there are; when they are complete, let the app be drained."""
        self._raise_if_wrong(complete=False)
        if self.scheduler.now > self._last_fault:
            self.log.images.at_commit = None
        calm = self._last_fault + (_REOPENING_SECONDS if self.shape.embedded else 0.0)
        if self._source_written and self.scheduler.now > calm and self._wrong(complete=True) is None:
            self._done = True
        else:
            self.scheduler.at(self.scheduler.now + _CHECK_SECONDS, self._check)

    def _compact(self) -> None:
        """Compact topics, again and again."""
        self.service.broker.compact(round(1_000 * self.scheduler.now))
        self.scheduler.at(self.scheduler.now + _COMPACTION_SECONDS, self._compact)

    def _verify_states(self, user: SimulatedProcess) -> None:
        """Compare the stores that the app has left on its one machine with their changelogs."""
        app = parse_text(self._text()).app
        assert app is not None
        if len(self.machines) > 1 or self.shape.kubernetes:
            return
        systems = SimulatedSystems(self.folder, user, FaultyNetwork(user, self.service), self.log)
        for verdict in verify_run(app, user.context(systems, self._seed), self.folder / ".streamapp" / NAME):
            if not verdict.equal:
                raise WrongResult(f"the store of {verdict.task} is not what its changelog says: {verdict}")

    def _raise_if_wrong(self, *, complete: bool) -> None:
        if (problem := self._wrong(complete=complete)) is not None:
            raise WrongResult(problem)

    def _wrong(self, *, complete: bool) -> str | None:
        found = {name: self.log.read(name) for name in self.shape.outputs} if self.shape.embedded else None
        return wrong_results(self.shape, found or self._results.read(), self.folder, complete=complete)

    def _progress(self) -> str:
        return f"the results are not complete: {self._wrong(complete=True)}"


def _traceback(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(error))
