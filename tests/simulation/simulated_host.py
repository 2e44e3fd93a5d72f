"""Hosts of a simulation: they start processors as simulated processes, which report over a simulated network."""

from concurrent.futures import Future
from pathlib import Path

import msgspec

from simulation.simulated_process import Machine, SimulatedProcess
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.errors import FAILURES, TRANSIENT, DriverLost, ProcessorLost
from streamapp_runtime.processor.driver_channel import Command, NoAnswer
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport
from streamapp_runtime.processor.run_processor import run_processor

_ANSWER_SECONDS = 3.0
_NOTICE_SECONDS = 0.05
"""How long it takes until the driver knows that a worker that it reaches has ended."""
_LOSS_SECONDS = 120.0
"""How long it takes until the host misses a worker that the driver does not reach."""


class SimulatedChannel:
    """See `DriverChannel`: the way of a worker to its driver."""

    def __init__(
        self, worker: SimulatedProcess, driver: SimulatedProcess, registry: ReportRegistry, *, refuses: bool
    ) -> None:
        """Take both sides; `refuses`: once the driver is dead its machine says so, else nobody answers."""
        self.cut_until = 0.0
        """Until when no report gets through."""
        self._refuses = refuses
        self._worker = worker
        self._driver = driver
        self._registry = registry

    def report(self, report: ProcessorReport) -> Command:
        """See `DriverChannel.report`."""
        worker, driver, scheduler = self._worker, self._driver, self._worker.scheduler
        worker.step("report")
        away = driver.dead and not self._refuses
        if away or scheduler.now < self.cut_until or driver.paused_until > scheduler.now + _ANSWER_SECONDS:
            scheduler.wait(scheduler.now + _ANSWER_SECONDS)
            raise NoAnswer("timed out")
        if driver.dead:
            raise DriverLost("the driver is gone: connection refused")
        while driver.paused_until > scheduler.now:
            scheduler.wait(driver.paused_until)
        command = self._registry.report(report)
        worker.step("answer")
        return command


class SimulatedHost:
    """See `ProcessorHost`. Workers are processes of `machines`, in turn; a driver's end does not end them.

    `reaches`: whether the host can kill workers, and sees at once when they die. On several machines each
    has a state folder of its own.
    """

    def __init__(self, driver: SimulatedProcess, registry: ReportRegistry, surroundings: "Surroundings") -> None:
        self.workers: dict[int, Worker] = {}
        self._driver = driver
        self._registry = registry
        self._surroundings = surroundings

    def start(self, config: ProcessorConfig) -> Future[ProcessorReport]:
        """See `ProcessorHost.start`."""
        me, surroundings = config.incarnation, self._surroundings
        machine = surroundings.place(me.processor)
        process = surroundings.make_process(f"{me.processor}@{me.epoch}.{me.number}", machine)
        config = msgspec.structs.replace(config, state_folder=surroundings.state_folder(config.state_folder, machine))
        refuses = surroundings.refuses or machine is self._driver.machine
        channel = SimulatedChannel(process, self._driver, self._registry, refuses=refuses)
        future: Future[ProcessorReport] = Future()
        self.workers[me.number] = worker = Worker(me, process, channel, future)
        surroundings.note_started(worker)
        process.on_death.append(lambda: self._notice(worker))
        process.scheduler.start(process.name, lambda: self._run(worker, config), process)
        return future

    def cancel(self, incarnation: Incarnation) -> None:
        """See `ProcessorHost.cancel`."""
        worker = self.workers[incarnation.number]
        if self._surroundings.reaches:
            worker.process.kill()

    def close(self) -> None:
        """See `ProcessorHost.close`."""
        for worker in self.workers.values():
            if self._surroundings.reaches:
                worker.process.kill()

    def _run(self, worker: "Worker", config: ProcessorConfig) -> None:
        context = self._surroundings.context_of(worker.process)
        error: Exception | None = None
        report = None
        try:
            report = run_processor(config, worker.channel, context)
        except Exception as raised:
            error = raised
            if not isinstance(error, (*FAILURES, *TRANSIENT)):
                raise
        worker.ended = True
        worker.process.scheduler.note(f"ends: {'done' if error is None else f'{type(error).__name__}: {error}'[:200]}")
        self._tell(worker, report, error, _NOTICE_SECONDS)

    def _tell(self, worker: "Worker", report: ProcessorReport | None, error: Exception | None, seconds: float) -> None:
        scheduler = worker.process.scheduler

        def tell() -> None:
            if not worker.future.done():
                if report is not None:
                    worker.future.set_result(report)
                else:
                    worker.future.set_exception(error or ProcessorLost("its process died"))

        scheduler.at(scheduler.now + seconds, tell)

    def _notice(self, worker: "Worker") -> None:
        seconds = _NOTICE_SECONDS if self._surroundings.reaches else _LOSS_SECONDS
        self._tell(worker, None, ProcessorLost("its process died"), seconds)


class Worker:
    """A worker process: the incarnation that it runs, and its ways to others."""

    def __init__(
        self,
        incarnation: Incarnation,
        process: SimulatedProcess,
        channel: SimulatedChannel,
        future: Future[ProcessorReport],
    ) -> None:
        self.incarnation = incarnation
        self.process = process
        self.channel = channel
        self.future = future
        self.ended = False

    @property
    def living(self) -> bool:
        """Whether its process runs."""
        return not (self.ended or self.process.dead)


class Surroundings:
    """What the hosts of a simulation share: machines, processes and where state lies."""

    def __init__(self, machines: list[Machine], *, reaches: bool, refuses: bool, processors: int) -> None:
        """Take the machines; see `SimulatedHost` for `reaches`, and `SimulatedChannel` for `refuses`."""
        self.processors = processors
        """How many processors the app is to have."""
        self.machines = machines
        self.reaches = reaches
        self.refuses = refuses
        self.workers: list[Worker] = []

    def place(self, processor: str) -> Machine:
        """Return the machine of a processor's next incarnation."""
        raise NotImplementedError

    def state_folder(self, folder: str, machine: Machine) -> str:
        """Return where a worker on this machine keeps its state."""
        return folder if len(self.machines) == 1 else str(Path(folder) / machine.name)

    def note_started(self, worker: Worker) -> None:
        """Take a worker that begins to run."""
        self.workers.append(worker)

    def make_process(self, name: str, machine: Machine) -> SimulatedProcess:
        """Make a process."""
        raise NotImplementedError

    def context_of(self, process: SimulatedProcess):
        """Return the execution context of a process."""
        raise NotImplementedError
