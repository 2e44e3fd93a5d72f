"""The start of a processor: plan again, fence earlier incarnations, restore the state, assemble the tasks, and run."""

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from streamapp_core.control.producers import expected_producers
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.naming import CHANGELOG, DEAD_LETTERS
from streamapp_core.plan.partition_claims import partition_claims
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.spec.parse import parse_text
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_streams import transaction_owner
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.functions.function_loader import load_extractors, load_functions, load_scalar_functions
from streamapp_runtime.processor.batch_coalescer import BatchCoalescer
from streamapp_runtime.processor.broadcast_progress import raise_starts, streams_read_for_others
from streamapp_runtime.processor.claim_checker import ClaimChecker
from streamapp_runtime.processor.committer import Committer
from streamapp_runtime.processor.connections import Connections
from streamapp_runtime.processor.control_message_sender import ControlMessageSender
from streamapp_runtime.processor.decoding_input_source import InputSource
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.processor.driver_link import DriverLink
from streamapp_runtime.processor.gated_input_source import gate_inputs
from streamapp_runtime.processor.processor import Processor
from streamapp_runtime.processor.processor_report import ProcessorConfig, ProcessorReport
from streamapp_runtime.processor.processor_report_builder import ProcessorReportBuilder
from streamapp_runtime.processor.restore_reporter import RestoreReporter
from streamapp_runtime.processor.side_input_guard import GuardedFile, SideInputGuard, explained_versions
from streamapp_runtime.processor.silence_monitor import SilenceMonitor
from streamapp_runtime.processor.state_opener import StateOpener, publish_staged_parts
from streamapp_runtime.processor.task_assembly import AssembledTasks, assemble_tasks, idle_timeouts
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_runtime.side_input_versions import has_files, side_input_paths
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.tables.table_opener import TableOpener
from streamapp_runtime.tasks.task_context import ProcessorContext, Writers
from streamapp_runtime.writing.dead_letter_writer import DeadLetterWriter
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_runtime.writing.output_writer import OutputWriter
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.native.library import native_library
from streamapp_systems.protocols import OutputPlace, PartOwner, StagedOutput

_LOGGER = logging.getLogger("streamapp.processor")
_SECOND = 1_000


def run_processor(config: ProcessorConfig, channel: DriverChannel, context: ExecutionContext) -> ProcessorReport:
    """Run an incarnation of a processor to its end and return its last report.

    Raises:
        RuntimeFailure, StreamSystemError: it can't continue.
        DriverLost: the driver is gone or has stopped this incarnation.
    """
    why_absent = native_library().why_absent
    if why_absent is not None:
        _LOGGER.info("%s runs slower without the native library: %s", config.incarnation, why_absent)
    with ExitStack() as handles:
        first = ProcessorReport(incarnation=config.incarnation)
        link = DriverLink(channel, first, context.clock.monotonic, context.threads)
        handles.callback(link.close)
        return _ProcessorStart(config, link, context, handles).processor().run()


class _ProcessorStart:
    """The start of an incarnation (docs/protocols.md, Start of a processor)."""

    def __init__(
        self, config: ProcessorConfig, link: DriverLink, context: ExecutionContext, handles: ExitStack
    ) -> None:
        """Plan again, and load the users' functions; `handles` closes what will be opened."""
        self._config = config
        self._link = link
        self._execution = context
        self._clock = context.clock
        self._handles = handles
        self._me = config.incarnation
        self._folder = context.systems.folder
        self._model = JobModel.model_validate_json(config.job_model)
        self._plan = plan_processor(config)
        self._functions = load_functions(self._plan, self._folder)
        self._scalar_functions = load_scalar_functions(self._plan, self._folder)
        self._extractors = load_extractors(self._plan, self._folder)
        self._tasks = {name: task for name, task in self._model.tasks.items() if task.processor == self._me.processor}
        versions = {name: side_input.version for name, side_input in config.side_inputs.items()}
        self._connections = Connections(self._plan, context.systems, handles, versions)
        self._restoring = RestoreReporter(self._me, link)

    def processor(self) -> Processor:
        """Open everything in the order of the protocol, report that to the driver, and return the processor."""
        writers = self._fencing_writers()
        opener = self._state_opener()
        states = opener.open(self._tasks, self._connections, writers.producer)
        publish_staged_parts(states, self._output_at)
        claims = self._claim_checker()
        context = self._context(writers, claims)
        assembled = assemble_tasks(context, states, opener)
        control_messages = _control_message_sender(context, assembled)
        committer = self._committer(assembled, writers, control_messages)
        inputs = self._inputs(assembled, claims)
        progress = ProcessorReportBuilder(self._me, self._restoring.states, assembled, claims)
        with fail_point(FailPoint.PROCESSOR_REPORT):
            now = self._clock.time_of_day()
            self._link.set_report(progress.report(commits=0, committed=committer.committed, done=False, now=now))
            self._link.confirm_current()
        return Processor(
            assembled,
            inputs=inputs,
            silence=SilenceMonitor(self._connections.consumers, assembled.routing.inputs, idle_timeouts(self._plan)),
            control_messages=control_messages,
            committer=committer,
            progress=progress,
            link=self._link,
            commit_seconds=self._plan.app.spec.job.commit_interval / _SECOND,
            clock=self._clock,
            end_turn=self._execution.end_turn,
        )

    def _fencing_writers(self) -> Writers:
        """Open the writers, which fences all earlier incarnations, then check that this one is still current."""
        with fail_point(FailPoint.PROCESSOR_OPEN):
            owner = transaction_owner(self._plan, self._me.processor, self._me.epoch)
            producer = self._connections.producer(owner, self._confirm_current)
        with fail_point(FailPoint.PROCESSOR_CHECK):
            self._confirm_current()
        files = self._connections.outputs(self._part_owner())
        return Writers(
            producer=producer,
            intermediate=IntermediateWriter(
                producer, _intermediate_streams(self._plan), self._connections.intermediate_schemas(), self._tasks
            ),
            outputs=OutputWriter(producer, self._clock.time_of_day, self._connections.output_headers()),
            dead_letters=DeadLetterWriter(producer, Ssp(self._plan.default_system, DEAD_LETTERS, 0)),
            files=files,
            places={system: self._connections.place(system) for system in files},
            limits=self._connections.record_limits(),
        )

    def _part_owner(self, *more: int) -> PartOwner:
        writer = "-".join(map(str, (self._me.epoch, self._me.number, *more)))
        return PartOwner(app=self._plan.app.name_prefix, writer=writer, opened=self._clock.time_of_day())

    def _output_at(self, place: OutputPlace, number: int) -> StagedOutput:
        return self._connections.output_at(place, self._part_owner(number))

    def _confirm_current(self) -> None:
        """Return if no other incarnation of this processor, and no later driver, has been started.

        Raises:
            DriverLost, Superseded: one has.
        """
        self._link.confirm_current()
        coordinator = Coordinator(self._plan.app, self._plan.default_system, self._execution.systems)
        coordinator.raise_if_superseded(self._me.epoch)

    def _state_opener(self) -> StateOpener:
        folder, run_id = Path(self._config.state_folder), self._plan.run_id
        return StateOpener(folder, run_id, self._handles, self._execution, self._restoring)

    def _context(self, writers: Writers, claims: ClaimChecker) -> ProcessorContext:
        engine = SqlEngine(self._scalar_functions.sql_functions)
        self._handles.callback(engine.close)
        return ProcessorContext(
            plan=self._plan,
            processor=self._me.processor,
            tasks=self._tasks,
            producers=expected_producers(
                self._plan.feeding_streams, {name: task.ssps for name, task in self._model.tasks.items()}
            ),
            starts=self._starts(),
            broadcast_writer=self._model.broadcast_writer,
            functions=self._functions,
            scalar_functions=self._scalar_functions,
            engine=engine,
            tables=self._table_opener(engine),
            writers=writers,
            note_null_keys=claims.note_null_keys,
            results_at_once=self._execution.results_at_once,
            values_inline=self._execution.values_inline,
            time_of_day=self._clock.time_of_day,
            monotonic_milliseconds=self._clock.monotonic_milliseconds,
            clock_outlives_process=self._clock.outlives_process,
        )

    def _starts(self) -> Mapping[str, Mapping[int, int]]:
        """Return the offsets where inputs are read first; of some, records from there on need not be there any more.

        So it is of streams between tasks that other apps read: their records stay as long as the topic says, and an
        edit may add the first reader here later.
        """
        starts = self._config.starts
        streams = streams_read_for_others(self._plan, self._model, self._me.processor).intersection(starts)
        passed = {
            ssp
            for task in self._tasks.values()
            for ssp in task.ssps
            if (ssp.stream in streams and starts[ssp.stream].get(ssp.partition))
            or _is_kept(self._plan.streams[ssp.stream])
        }
        oldest = {ssp: extent.oldest for ssp, extent in self._connections.extents(passed, self._config.ends).items()}
        return raise_starts(starts, oldest)

    def _table_opener(self, engine: SqlEngine) -> TableOpener:
        versions = self._config.side_inputs
        side_inputs = {ssp for task in self._tasks.values() for ssp in task.ssps if _fills_table(self._plan, ssp)}
        extents = {
            ssp: replace(extent, version=versions[ssp.stream].version) if ssp.stream in versions else extent
            for ssp, extent in self._connections.extents(side_inputs, self._config.ends).items()
        }
        return TableOpener(self._plan, engine, self._extractors, extents=extents, time_of_day=self._clock.time_of_day)

    def _committer(
        self, assembled: AssembledTasks, writers: Writers, control_messages: ControlMessageSender
    ) -> Committer:
        system = self._plan.default_system
        changelogs = {name: Ssp(system, CHANGELOG, task.changelog_partition) for name, task in self._tasks.items()}
        return Committer(
            assembled,
            changelogs,
            writers,
            control_messages,
            clock=self._clock.monotonic,
            raise_if_stopped=self._link.command,
        )

    def _claim_checker(self) -> ClaimChecker:
        policy = self._plan.app.spec.job.on_broken_claim
        return ClaimChecker(partition_claims(self._plan), policy, self._clock.monotonic, self._execution.random)

    def _inputs(self, assembled: AssembledTasks, claims: ClaimChecker) -> InputSource:
        starts = {ssp: position.offset for ssp, position in assembled.positions.items()}
        return gate_inputs(
            BatchCoalescer(self._guarded(starts, assembled, claims), self._clock.monotonic, assembled.later_starts),
            self._plan,
            self._model,
            assembled,
            written_offsets=self._connections.written_offsets,
            time_of_day=self._clock.time_of_day,
        )

    def _guarded(self, starts: Mapping[Ssp, int], assembled: AssembledTasks, claims: ClaimChecker) -> InputSource:
        """Guard the files of side inputs that are read; those that are in their tables already may be gone."""
        ends = self._config.ends
        versions = {
            name: side_input
            for name, side_input in self._config.side_inputs.items()
            if has_files(self._plan.streams[name])
        }
        read = {ssp for ssp, start in starts.items() if ssp.stream in versions}
        read = {ssp for ssp in read if starts[ssp] < ends[ssp.stream][ssp.partition]}
        paths = side_input_paths(self._plan, self._execution.systems, {ssp.stream for ssp in read})
        expected = {ssp: versions[ssp.stream].files[ssp.partition] for ssp in read}
        files = {
            ssp: GuardedFile(path=paths.get(ssp, self._folder / version.name), version=version)
            for ssp, version in expected.items()
        }
        with explained_versions():
            inputs = self._connections.inputs(starts, ends, claims, assembled.later_starts)
        return SideInputGuard(inputs, files)


def plan_processor(config: ProcessorConfig) -> Plan:
    """Return the plan that a processor runs.

    Raises:
        PlanRefused: there is none.
    """
    model = JobModel.model_validate_json(config.job_model)
    result = make_plan(
        parse_text(config.app), config.counts, model, run_id=model.run_id, algorithms=installed_algorithm
    )
    if result.plan is None:
        raise PlanRefused(result.problems)
    return result.plan


def _control_message_sender(context: ProcessorContext, assembled: AssembledTasks) -> ControlMessageSender:
    producers = {stream: len(tasks) for stream, tasks in context.producers.items()}
    interval = context.plan.app.spec.job.watermark_interval
    return ControlMessageSender(context.writers.intermediate, assembled.tasks, producers, interval)


def _fills_table(plan: Plan, ssp: Ssp) -> bool:
    return plan.streams[ssp.stream].role is StreamRole.SIDE_INPUT


def _is_kept(stream: PlannedStream) -> bool:
    return stream.role is StreamRole.INTERMEDIATE and stream.shared


def _intermediate_streams(plan: Plan) -> Mapping[str, tuple[str, int]]:
    """Return the system and the partition count of each intermediate stream."""
    streams = plan.streams.values()
    return {s.name: (s.system, s.partitions) for s in streams if s.role is StreamRole.INTERMEDIATE}
