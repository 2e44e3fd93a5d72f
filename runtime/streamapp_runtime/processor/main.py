"""From its configuration to a running processor: plan again, open what is needed, run, and close everything."""

import time
from contextlib import ExitStack
from pathlib import Path

from streamapp_core.control.producers import expected_producers
from streamapp_core.job_model.model import JobModel
from streamapp_core.plan.model import Plan, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.spec.parse import parse_text
from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.functions.load import load_functions
from streamapp_runtime.processor.assembly import Assembly
from streamapp_runtime.processor.channel import DriverChannel
from streamapp_runtime.processor.committer import Committer
from streamapp_runtime.processor.connections import Connections
from streamapp_runtime.processor.intermediate import IntermediateWriter
from streamapp_runtime.processor.markers import MarkerRounds
from streamapp_runtime.processor.opening import StateOpener, publish_left
from streamapp_runtime.processor.processor import Processor
from streamapp_runtime.processor.progress import Progress
from streamapp_runtime.processor.reports import ProcessorConfig, ProcessorReport
from streamapp_runtime.sql.engine import SqlEngine
from streamapp_runtime.streams import CHANGELOG, transactional

_SECOND = 1_000
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def run_processor(config: ProcessorConfig, channel: DriverChannel) -> ProcessorReport:
    """Run a processor to its end and give its last report.

    Raises:
        RuntimeFailure, StreamSystemError: it can't go on.
        DriverLost: the driver is gone or said stop.
    """
    model = JobModel.model_validate_json(config.job_model)
    result = make_plan(parse_text(config.app), config.counts, model, run_id=model.run_id)
    if result.plan is None:
        raise PlanRefused(result.problems)
    with ExitStack() as handles:
        return _open(config, result.plan, model, channel, handles).run()


def _open(
    config: ProcessorConfig, plan: Plan, model: JobModel, channel: DriverChannel, handles: ExitStack
) -> Processor:
    functions = load_functions(plan, Path(config.folder))
    here = {name: task for name, task in model.tasks.items() if task.processor == config.processor}
    connections = Connections(plan, Path(config.folder), handles)
    producer = connections.producer(transactional(plan, config.processor, config.epoch))
    outputs = connections.outputs(f"{config.epoch}-{config.processor}")
    state_folder = Path(config.state_folder)
    opener = StateOpener(state_folder, plan.run_id, _boot_id(), handles, clock=time.monotonic, sleep=time.sleep)
    states = opener.open(here, connections)
    shared = opener.open_shared(config.processor)
    written = publish_left(states, outputs, config.processor)
    engine = SqlEngine()
    handles.callback(engine.close)
    writer = IntermediateWriter(producer, _intermediate(plan))
    producers = expected_producers(plan.feeding_streams, {name: task.ssps for name, task in model.tasks.items()})
    parts = Assembly(
        plan,
        owned=here,
        producers=producers,
        engine=engine,
        writer=writer,
        outputs={s.name: outputs[s.system] for s in plan.streams.values() if s.system in outputs},
        written=written,
        functions=functions,
        producer=producer,
        time_of_day=_time_of_day,
    ).assemble(states, shared)
    counts = {stream: len(tasks) for stream, tasks in producers.items()}
    markers = MarkerRounds(writer, parts.tasks, counts, plan.app.spec.job.watermark_interval)
    committer = Committer(
        config.processor,
        tasks=parts.tasks,
        changelogs={n: Ssp(plan.default_system, CHANGELOG, task.changelog_partition) for n, task in here.items()},
        shared=shared,
        writer=writer,
        markers=markers,
        producer=producer,
        outputs=outputs,
        written=written,
    )
    starts = dict.fromkeys(parts.reading.tables, 0)
    starts |= {ssp: position.offset for task in parts.tasks for ssp, position in task.positions.items()}
    return Processor(
        tasks=parts.tasks,
        reading=parts.reading,
        inputs=connections.inputs(starts, config.ends),
        markers=markers,
        committer=committer,
        progress=Progress(
            config.processor,
            config.epoch,
            side_inputs=parts.reading.tables,
            tasks=parts.tasks,
            tables=parts.tables,
            written=written,
        ),
        channel=channel,
        commit_seconds=plan.app.spec.job.commit_interval / _SECOND,
        clock=time.monotonic,
        time_of_day=_time_of_day,
    )


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
