"""The lag of an app's run: how far its last commits are behind the ends of what it reads (`streamapp lag`)."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan, StreamRole
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_streams import FIRST_REQUEST_TIMEOUT, by_system, changelog_stream, descriptor
from streamapp_runtime.driver.active_run import find_job_model
from streamapp_runtime.driver.plan_run import replan_run
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.record_reader import RecordReader
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY, Checkpoint, decode_checkpoint
from streamapp_systems.protocols import BadRecord, FetchedBatch
from streamapp_systems.registry import Systems


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """The committed `position` in a partition, its next offset (None: nothing of it is committed), and its `end`."""

    stream: str
    partition: int
    start: int
    position: int | None
    end: int

    @property
    def behind(self) -> int:
        """The offsets that are still to be read."""
        return max(0, self.end - (self.start if self.position is None else max(self.start, self.position)))


@dataclass(frozen=True, slots=True)
class _StoredCheckpoint:
    offset: int
    checkpoint: Checkpoint


def read_lag(parsed: ParsedApp, context: ExecutionContext) -> list[PartitionLag]:
    """Return the lag of each partition that the tasks of an app's run read, in the order of streams and partitions.

    The run may go on, here or elsewhere: nothing is changed, and nobody is disturbed. Side inputs of which nothing is
    committed are left out: their tables are filled at each start, so nobody knows.

    Raises:
        PlanRefused: the app has problems.
        RuntimeFailure: there is no run.
        JobModelUnreadableError: the run's job model is lost.
        StreamSystemError: a system can't be asked.
    """
    if parsed.app is None or parsed.problems:
        raise PlanRefused(parsed.problems)
    model = find_job_model(parsed.app, context.systems)
    plan = replan_run(parsed, context.systems, model, context.clock.time_of_day()).plan
    read = {ssp for task in model.tasks.values() for ssp in task.ssps}
    positions = _positions(_checkpoints(plan, model, context.systems))
    lags = []
    streams = [descriptor(stream) for stream in plan.streams.values() if stream.name in {ssp.stream for ssp in read}]
    for system, described in by_system(streams).items():
        opened = context.systems.open_admin(system, plan.app.system(system), timeout=FIRST_REQUEST_TIMEOUT)
        with closing(opened) as admin:
            starts, ends = admin.start_offsets(described), admin.end_offsets(described)
        lags += [
            PartitionLag(
                stream=ssp.stream,
                partition=ssp.partition,
                start=starts.get(ssp, 0),
                position=positions.get((ssp.stream, ssp.partition)),
                end=ends[ssp],
            )
            for ssp in ends.keys() & read
        ]
    committed = {stream for stream, _ in positions}
    side_inputs = {stream.name for stream in plan.streams.values() if stream.role is StreamRole.SIDE_INPUT}
    lags = [lag for lag in lags if lag.stream in committed or lag.stream not in side_inputs]
    return sorted(lags, key=lambda lag: (lag.stream, lag.partition))


def _checkpoints(plan: Plan, model: JobModel, systems: Systems) -> Iterator[Checkpoint]:
    """Yield the newest committed checkpoint of each task that has one."""
    stream, spec = changelog_stream(plan), plan.app.system(plan.default_system)
    with closing(systems.open_admin(stream.system, spec, timeout=FIRST_REQUEST_TIMEOUT)) as admin:
        starts, ends = admin.start_offsets([stream]), admin.end_offsets([stream])
    tasks = {Ssp(stream.system, stream.name, task.changelog_partition) for task in model.tasks.values()}
    open_consumer = partial(systems.open_consumer, stream.system, spec, [stream])
    reader = RecordReader(open_consumer, _stored, ends=ends, rows=1, bounded=True)
    for newest in reader.last({ssp: starts.get(ssp, 0) for ssp in tasks & ends.keys()}).values():
        yield from (found.checkpoint for found in newest)


def _stored(fetched: FetchedBatch | BadRecord) -> Iterator[_StoredCheckpoint]:
    assert isinstance(fetched, FetchedBatch), "a changelog has bytes alone, which any can be"
    for message in fetched.messages:
        if message.key == CHECKPOINT_KEY and message.value is not None:
            yield _StoredCheckpoint(message.offset, decode_checkpoint(message.value))


def _positions(checkpoints: Iterable[Checkpoint]) -> Mapping[tuple[str, int], int]:
    """Return the least position in each partition: several tasks read the same one where it is broadcast."""
    least: dict[tuple[str, int], int] = {}
    for checkpoint in checkpoints:
        for stream, partitions in checkpoint.positions.items():
            for partition, position in partitions.items():
                known = least.get((stream, partition), position.offset)
                least[stream, partition] = min(known, position.offset)
    return least
