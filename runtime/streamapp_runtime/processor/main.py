"""From its configuration to a running processor: plan again, open what is needed, run, and close everything."""

import time
from contextlib import ExitStack
from pathlib import Path

from streamapp_core.control.producers import expected_producers
from streamapp_core.job_model.model import JobModel
from streamapp_core.plan.model import Plan, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.processor.assembly import Assembly
from streamapp_runtime.processor.channel import DriverChannel
from streamapp_runtime.processor.committer import Committer
from streamapp_runtime.processor.connections import Connections
from streamapp_runtime.processor.intermediate import IntermediateWriter
from streamapp_runtime.processor.markers import MarkerRounds
from streamapp_runtime.processor.processor import Processor
from streamapp_runtime.processor.progress import Progress
from streamapp_runtime.processor.reports import ProcessorConfig, ProcessorReport
from streamapp_runtime.sql.engine import SqlEngine

_SECOND = 1_000


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
    engine = SqlEngine()
    handles.callback(engine.close)
    connections = Connections(plan, Path(config.folder), handles)
    producer = connections.producer()
    outputs = connections.outputs(f"{config.epoch}-{config.processor}")
    writer = IntermediateWriter(producer, _intermediate(plan))
    producers = expected_producers(plan.feeding_streams, {name: task.ssps for name, task in model.tasks.items()})
    parts = Assembly(
        plan,
        owned={name: task.ssps for name, task in model.tasks.items() if task.processor == config.processor},
        producers=producers,
        state_folder=Path(config.state_folder),
        engine=engine,
        handles=handles,
        now=_time_of_day(),
    ).assemble(config.processor, writer, outputs)
    ssps = [*parts.reading.tables, *parts.reading.intermediate, *parts.reading.inputs]
    job = plan.app.spec.job
    counts = {stream: len(tasks) for stream, tasks in producers.items()}
    markers = MarkerRounds(writer, parts.tasks, counts, job.watermark_interval)
    committer = Committer(
        tasks=parts.tasks,
        shared=parts.shared,
        writer=writer,
        markers=markers,
        producer=producer,
        outputs=list({id(output): output for output in outputs.values()}.values()),
    )
    return Processor(
        tasks=parts.tasks,
        tables=parts.tables,
        reading=parts.reading,
        inputs=connections.inputs(ssps, config.ends),
        markers=markers,
        committer=committer,
        progress=Progress(config.processor, config.epoch, ssps, parts.tasks),
        written=parts.written,
        channel=channel,
        commit_seconds=job.commit_interval / _SECOND,
        clock=time.monotonic,
        time_of_day=_time_of_day,
    )


def _intermediate(plan: Plan) -> dict[str, tuple[str, int]]:
    streams = plan.streams.values()
    return {s.name: (s.system, s.partitions) for s in streams if s.role is StreamRole.INTERMEDIATE}


def _time_of_day() -> int:
    return time.time_ns() // 1_000_000
