"""From its configuration to a running processor: plan again, open what is needed, run, and close everything."""

import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from streamapp_core.control.producers import expected_producers
from streamapp_core.job_model.model import JobModel
from streamapp_core.plan.model import Plan, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.spec.parse import parse_text
from streamapp_core.ssp import Ssp
from streamapp_runtime.coordinator import Coordinator
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.fail_points import Step, Taking
from streamapp_runtime.functions.load import load_extractors, load_functions
from streamapp_runtime.processor.assembly import Assembly
from streamapp_runtime.processor.bootstrap import Bootstrap
from streamapp_runtime.processor.channel import DriverChannel
from streamapp_runtime.processor.committer import Committer
from streamapp_runtime.processor.connections import Connections
from streamapp_runtime.processor.gated_inputs import gated
from streamapp_runtime.processor.gathering import Gathering
from streamapp_runtime.processor.intermediate import IntermediateWriter
from streamapp_runtime.processor.link import DriverLink
from streamapp_runtime.processor.markers import MarkerRounds
from streamapp_runtime.processor.opening import StateOpener, publish_left
from streamapp_runtime.processor.processor import Processor
from streamapp_runtime.processor.progress import Progress
from streamapp_runtime.processor.reports import ProcessorConfig, ProcessorReport
from streamapp_runtime.processor.restoring import Restoring
from streamapp_runtime.sql.engine import SqlEngine
from streamapp_runtime.streams import CHANGELOG, transactional
from streamapp_runtime.tables.opening import TableOpener

_SECOND = 1_000
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def run_processor(config: ProcessorConfig, channel: DriverChannel) -> ProcessorReport:
    """Run an incarnation of a processor to its end and give its last report.

    Raises:
        RuntimeFailure, StreamSystemError: it can't go on.
        DriverLost: the driver is gone or said stop.
    """
    with ExitStack() as handles:
        link = DriverLink(channel, ProcessorReport(incarnation=config.incarnation), time.monotonic)
        handles.callback(link.close)
        return _open(config, link, handles).run()


def _open(config: ProcessorConfig, link: DriverLink, handles: ExitStack) -> Processor:
    model = JobModel.model_validate_json(config.job_model)
    result = make_plan(parse_text(config.app), config.counts, model, run_id=model.run_id)
    if result.plan is None:
        raise PlanRefused(result.problems)
    plan, me = result.plan, config.incarnation
    functions = load_functions(plan, Path(config.folder))
    extractors = load_extractors(plan, Path(config.folder))
    here = {name: task for name, task in model.tasks.items() if task.processor == me.processor}
    connections = Connections(plan, Path(config.folder), handles)
    with Taking(Step.PROCESSOR_OPEN):
        producer = connections.producer(transactional(plan, me.processor, me.epoch))
    with Taking(Step.PROCESSOR_CHECK):
        link.confirm()
        Coordinator(plan.app, plan.default_system, Path(config.folder)).check(me.epoch)
    outputs = connections.outputs(f"{me.epoch}-{me.number}")
    state_folder = Path(config.state_folder)
    restoring = Restoring(me, link)
    opener = StateOpener(
        state_folder,
        plan.run_id,
        _boot_id(),
        handles,
        clock=time.monotonic,
        sleep=time.sleep,
        time_of_day=_time_of_day,
        restoring=restoring,
    )
    states = opener.open(here, connections)
    side_inputs = {ssp for task in here.values() for ssp in task.ssps if _fills_table(plan, ssp)}
    publish_left(states, outputs)
    engine = SqlEngine()
    handles.callback(engine.close)
    writer = IntermediateWriter(producer, _intermediate(plan))
    producers = expected_producers(plan.feeding_streams, {name: task.ssps for name, task in model.tasks.items()})
    tables = TableOpener(
        plan, engine, extractors, extents=connections.extents(side_inputs, config.ends), time_of_day=_time_of_day
    )
    parts = Assembly(
        plan,
        owned=here,
        producers=producers,
        engine=engine,
        tables=tables,
        writer=writer,
        outputs={s.name: outputs[s.system] for s in plan.streams.values() if s.system in outputs},
        functions=functions,
        producer=producer,
        time_of_day=_time_of_day,
    ).assemble(states, open_unlogged=opener.open_unlogged, open_shared=partial(opener.open_shared, me.processor))
    counts = {stream: len(tasks) for stream, tasks in producers.items()}
    markers = MarkerRounds(writer, parts.tasks, counts, plan.app.spec.job.watermark_interval)
    committer = Committer(
        tasks=parts.tasks,
        changelogs={n: Ssp(plan.default_system, CHANGELOG, task.changelog_partition) for n, task in here.items()},
        shared=parts.shared,
        writer=writer,
        markers=markers,
        producer=producer,
        outputs=outputs,
    )
    positions = parts.positions
    inputs = gated(
        Gathering(
            connections.inputs({ssp: position.offset for ssp, position in positions.items()}, config.ends),
            time.monotonic,
        ),
        plan,
        model,
        positions,
        owners=parts.reading.inputs,
        written_offsets=connections.written_offsets,
        time_of_day=_time_of_day,
    )
    progress = Progress(me, restoring.states, tasks=parts.tasks, shared=parts.shared)
    with Taking(Step.PROCESSOR_REPORT):
        link.tell(progress.report(commits=0, committed=committer.committed, done=False))
        link.confirm()
    return Processor(
        tasks=parts.tasks,
        bootstrap=Bootstrap(inputs, parts.reading.side_inputs, parts.side_inputs),
        reading=parts.reading,
        inputs=inputs,
        markers=markers,
        committer=committer,
        progress=progress,
        link=link,
        commit_seconds=plan.app.spec.job.commit_interval / _SECOND,
        clock=time.monotonic,
        sleep=time.sleep,
        time_of_day=_time_of_day,
    )


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
