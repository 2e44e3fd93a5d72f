"""The surroundings of a supervisor in tests of it: a host, a clock, an authority and a network that obey the test."""

from collections import deque
from concurrent.futures import Future
from dataclasses import replace

from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel
from streamapp_runtime.driver.fleet import Fleet
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.supervisor import Supervisor
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.processor_report import ProcessorConfig, ProcessorReport
from support import plan_documents

OPERATORS = [{"name": "copied", "from": "in", "map": "k"}, {"name": "sent", "from": "copied", "sendTo": "out"}]
TIMEOUTS = Timeouts()


def planned(partitions=6, processors=2):
    """Plan an app with a task per partition."""
    document = plan_documents.document(OPERATORS, streams={"in": "k int", "out": {}})
    plan = plan_documents.accepted(document, {"in": partitions, "out": 1})
    return PlannedRun(plan=plan, model=build_job_model(plan, None, _ids(processors)), counts={"in": partitions})


def scaled(previous: PlannedRun, processors: int) -> PlannedRun:
    """Return the same run with another number of processors."""
    model = build_job_model(previous.plan, previous.model, _ids(processors))
    return replace(previous, model=model)


def _ids(count):
    return {str(number): "here" for number in range(count)}


class _Threads:
    """The threads of a supervisor: they run when the test lets them. Nobody waits."""

    def __init__(self, start):
        self.start = start


class SupervisorHarness:
    """The host, the authority and the reports of a supervisor.

    Time stands still until the test moves it; what runs beside the driver's thread runs at once, or, with `held`, when
    the test says so.
    """

    def __init__(self, run: PlannedRun, *, held=False):
        self.now = 0.0
        self.log: list[str] = []
        self.configs: dict[int, ProcessorConfig] = {}
        self.futures: dict[int, Future] = {}
        self.fence_errors: deque[Exception] = deque()
        self.activation_errors: deque[Exception] = deque()
        self.held = deque() if held else None
        self.fenced: set[int] = set()
        self.registry = ReportRegistry(lambda: self.now)
        fleet = Fleet(
            self,
            self.registry,
            _config,
            epoch=1,
            clock=lambda: self.now,
            timeouts=TIMEOUTS,
            threads=_Threads(self._background),
        )
        self.supervisor = Supervisor(
            run, fleet, self, clock=lambda: self.now, timeouts=TIMEOUTS, threads=_Threads(self._background)
        )
        self.supervisor.start()

    # the host
    def start(self, config):
        number = config.incarnation.number
        self.log.append(f"start {config.incarnation.processor}#{number} v{config.incarnation.version}")
        self.configs[number] = config
        self.futures[number] = Future()
        return self.futures[number]

    def cancel(self, incarnation):
        self.log.append(f"cancel {incarnation.processor}#{incarnation.number}")

    def close(self):
        """Nothing is held."""

    # the authority
    def activate_job_model(self, run):
        self.log.append(f"activate v{run.model.version}")
        if self.activation_errors:
            raise self.activation_errors.popleft()

    def fence(self, processors):
        self.log.append("fence " + " ".join(sorted(processors)))
        if self.fence_errors:
            raise self.fence_errors.popleft()
        self.fenced |= {n for n, config in self.configs.items() if config.incarnation.processor in processors}

    # what tests do
    def report(self, number, **fields) -> Command:
        return self.registry.report(
            ProcessorReport(incarnation=self.configs[number].incarnation, opened=True, **fields)
        )

    def end(self, number, *, done=True, committed=0):
        report = ProcessorReport(
            incarnation=self.configs[number].incarnation,
            opened=True,
            committed={"in": {0: committed}},
            done=done,
        )
        self.futures[number].set_result(report)
        self.step()

    def die(self, number, error):
        self.futures[number].set_exception(error)
        self.step()

    def step(self, seconds=0.0):
        """Let time pass and the supervisor step; return what it did."""
        self.now += seconds
        before = len(self.log)
        for _ in range(4):
            self.supervisor.step()
        return self.log[before:]

    def release(self, kind=""):
        """Let what was held run, all or one kind of it, and the supervisor step."""
        assert self.held is not None
        before = len(self.log)
        for name, run in [work for work in self.held if kind in work[0]]:
            self.held.remove((name, run))
            run()
        self.step()
        return self.log[before:]

    @property
    def living(self) -> list[int]:
        return [number for number, future in self.futures.items() if not future.done()]

    def _background(self, name, work):
        future = Future()

        def run():
            try:
                work()
            except Exception as error:  # noqa: BLE001 - the driver looks at it
                future.set_exception(error)
            else:
                future.set_result(None)

        if self.held is None:
            run()
        else:
            self.held.append((name, run))
        return future


def _config(run, incarnation):
    return ProcessorConfig(
        incarnation=incarnation,
        app="",
        counts={},
        job_model=run.model.model_dump_json(by_alias=True),
        ends={},
        folder="",
        state_folder="",
    )


def tasks_of(config: ProcessorConfig) -> set[str]:
    """Return the tasks that an incarnation runs."""
    model = JobModel.model_validate_json(config.job_model)
    return {name for name, task in model.tasks.items() if task.processor == config.incarnation.processor}
