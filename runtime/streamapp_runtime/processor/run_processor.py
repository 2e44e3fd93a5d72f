"""From its configuration to a running processor: plan again, open what is needed, run, and close everything."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from streamapp_core.control.producers import expected_producers
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.naming import CHANGELOG
from streamapp_core.plan.plan import Plan, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.spec.parse import parse_text
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_streams import transaction_owner
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.functions.function_loader import load_extractors, load_functions
from streamapp_runtime.processor.batch_coalescer import BatchCoalescer
from streamapp_runtime.processor.committer import Committer
from streamapp_runtime.processor.connections import Connections
from streamapp_runtime.processor.control_message_sender import ControlMessageSender
from streamapp_runtime.processor.decoding_input_source import InputSource
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.processor.driver_link import DriverLink
from streamapp_runtime.processor.gated_input_source import gated
from streamapp_runtime.processor.processor import Processor
from streamapp_runtime.processor.processor_progress import ProcessorProgress
from streamapp_runtime.processor.processor_report import ProcessorConfig, ProcessorReport
from streamapp_runtime.processor.restore_progress import RestoreProgress
from streamapp_runtime.processor.side_input_bootstrap import SideInputBootstrap
from streamapp_runtime.processor.state_opener import StateOpener, publish_staged_parts
from streamapp_runtime.processor.task_assembly import Assembled, Assembly
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.tables.table_opener import TableOpener
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_runtime.writing.output_writer import OutputWriter
from streamapp_systems.protocols import FileOutput, Producer

_SECOND = 1_000
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writers:
    """What a processor writes with: `producer` for all streams, `files` for outputs in each system of files."""

    producer: Producer
    intermediate: IntermediateWriter
    streams: OutputWriter
    files: Mapping[str, FileOutput]


def run_processor(config: ProcessorConfig, channel: DriverChannel) -> ProcessorReport:
    """Run an incarnation of a processor to its end and give its last report.

    Raises:
        RuntimeFailure, StreamSystemError: it can't go on.
        DriverLost: the driver is gone or said stop.
    """
    with ExitStack() as handles:
        link = DriverLink(channel, ProcessorReport(incarnation=config.incarnation), time.monotonic)
        handles.callback(link.close)
        return _Opening(config, link, handles).processor().run()


class _Opening:
    """An incarnation on its way to a running processor (`docs/protocols.md`, Start of a processor)."""

    def __init__(self, config: ProcessorConfig, link: DriverLink, handles: ExitStack) -> None:
        """Plan again, and load what users wrote; `handles` closes what will be opened."""
        self._config = config
        self._link = link
        self._handles = handles
        self._me = config.incarnation
        self._folder = Path(config.folder)
        self._model = JobModel.model_validate_json(config.job_model)
        self._plan = _plan(config, self._model)
        self._functions = load_functions(self._plan, self._folder)
        self._extractors = load_extractors(self._plan, self._folder)
        self._owned = {name: task for name, task in self._model.tasks.items() if task.processor == self._me.processor}
        self._producers = expected_producers(
            self._plan.feeding_streams, {name: task.ssps for name, task in self._model.tasks.items()}
        )
        self._connections = Connections(self._plan, self._folder, handles)
        self._restoring = RestoreProgress(self._me, link)

    def processor(self) -> Processor:
        """Open everything, and let the driver know."""
        writers = self._writers()
        parts = self._assembled(writers)
        counts = {stream: len(tasks) for stream, tasks in self._producers.items()}
        control_messages = ControlMessageSender(
            writers.intermediate, parts.tasks, counts, self._plan.app.spec.job.watermark_interval
        )
        committer = self._committer(parts, writers, control_messages)
        inputs = self._inputs(parts)
        progress = ProcessorProgress(self._me, self._restoring.states, tasks=parts.tasks, shared=parts.shared)
        with fail_point(FailPoint.PROCESSOR_REPORT):
            self._link.set_report(
                progress.report(commits=0, committed=committer.committed, done=False, now=_time_of_day())
            )
            self._link.confirm_current()
        return Processor(
            tasks=parts.tasks,
            bootstrap=SideInputBootstrap(inputs, parts.reading.side_inputs, parts.side_inputs),
            reading=parts.reading,
            inputs=inputs,
            control_messages=control_messages,
            committer=committer,
            progress=progress,
            link=self._link,
            commit_seconds=self._plan.app.spec.job.commit_interval / _SECOND,
            clock=time.monotonic,
            sleep=time.sleep,
            time_of_day=_time_of_day,
        )

    def _writers(self) -> _Writers:
        """Shut out all earlier incarnations, then make sure that this one is the current one."""
        with fail_point(FailPoint.PROCESSOR_OPEN):
            producer = self._connections.producer(transaction_owner(self._plan, self._me.processor, self._me.epoch))
        with fail_point(FailPoint.PROCESSOR_CHECK):
            self._link.confirm_current()
            Coordinator(self._plan.app, self._plan.default_system, self._folder).check(self._me.epoch)
        return _Writers(
            producer=producer,
            intermediate=IntermediateWriter(producer, _intermediate(self._plan)),
            streams=OutputWriter(producer, _time_of_day),
            files=self._connections.outputs(f"{self._me.epoch}-{self._me.number}"),
        )

    def _assembled(self, writers: _Writers) -> Assembled:
        """Open the state of the tasks, and put them together."""
        plan, files = self._plan, writers.files
        opener = StateOpener(
            Path(self._config.state_folder),
            plan.run_id,
            _boot_id(),
            self._handles,
            clock=time.monotonic,
            sleep=time.sleep,
            time_of_day=_time_of_day,
            restoring=self._restoring,
        )
        states = opener.open(self._owned, self._connections, writers.producer)
        publish_staged_parts(states, files)
        engine = SqlEngine()
        self._handles.callback(engine.close)
        return Assembly(
            plan,
            owned=self._owned,
            producers=self._producers,
            engine=engine,
            tables=self._tables(engine),
            writer=writers.intermediate,
            outputs={s.name: files[s.system] for s in plan.streams.values() if s.system in files},
            functions=self._functions,
            output_writer=writers.streams,
            starts=self._config.starts,
            time_of_day=_time_of_day,
        ).assemble(
            states,
            open_unlogged=opener.open_unlogged,
            open_shared=partial(opener.open_shared, self._me.processor),
        )

    def _tables(self, engine: SqlEngine) -> TableOpener:
        side_inputs = {ssp for task in self._owned.values() for ssp in task.ssps if _fills_table(self._plan, ssp)}
        extents = self._connections.extents(side_inputs, self._config.ends)
        return TableOpener(self._plan, engine, self._extractors, extents=extents, time_of_day=_time_of_day)

    def _committer(self, parts: Assembled, writers: _Writers, control_messages: ControlMessageSender) -> Committer:
        system = self._plan.default_system
        changelogs = {name: Ssp(system, CHANGELOG, task.changelog_partition) for name, task in self._owned.items()}
        return Committer(
            tasks=parts.tasks,
            changelogs=changelogs,
            shared=parts.shared,
            writer=writers.intermediate,
            output_writer=writers.streams,
            control_messages=control_messages,
            producer=writers.producer,
            outputs=writers.files,
            clock=time.monotonic,
        )

    def _inputs(self, parts: Assembled) -> InputSource:
        positions = parts.positions
        starts = {ssp: position.offset for ssp, position in positions.items()}
        return gated(
            BatchCoalescer(self._connections.inputs(starts, self._config.ends), time.monotonic),
            self._plan,
            self._model,
            positions,
            owners=parts.reading.inputs,
            written_offsets=self._connections.written_offsets,
            time_of_day=_time_of_day,
        )


def _plan(config: ProcessorConfig, model: JobModel) -> Plan:
    result = make_plan(parse_text(config.app), config.counts, model, run_id=model.run_id)
    if result.plan is None:
        raise PlanRefused(result.problems)
    return result.plan


def _fills_table(plan: Plan, ssp: Ssp) -> bool:
    return plan.streams[ssp.stream].role is StreamRole.SIDE_INPUT


def _intermediate(plan: Plan) -> dict[str, tuple[str, int]]:
    streams = plan.streams.values()
    return {s.name: (s.system, s.partitions) for s in streams if s.role is StreamRole.INTERMEDIATE}


def _time_of_day() -> int:
    return time.time_ns() // 1_000_000


def _boot_id() -> str:
    """Tell this start of the machine from others; where the system does not say, every start counts as another."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return str(time.time_ns())
