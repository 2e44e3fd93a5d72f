"""The step from a plan to the next job model: partitions to tasks, tasks to processors."""

from collections.abc import Iterable, Mapping

from streamapp_core.assignment import ANY_LOCATION, assign
from streamapp_core.job_model.job_model import JobModel, ProcessorModel, StreamPartitions, TaskModel
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.plan.previous_run import REMOVED
from streamapp_core.tasks import (
    GroupedStream,
    Grouping,
    PreviousGrouping,
    StreamHistory,
    group_partitions,
    natural_key,
)


def build_job_model(
    plan: Plan,
    previous: JobModel | None = None,
    processors: Mapping[str, str] | None = None,
    *,
    now: int | None = None,
) -> JobModel:
    """Assign every partition that is read to a task, and every task to a processor.

    Args:
        plan: an accepted plan, for the same `previous`.
        previous: the newest job model of the app. One of another run only sets the version to count on from.
        processors: id -> location of the live processors. None: the number in the spec, at `any`.
        now: the time of day in ms since 1970, noted where a stream has grown.

    Returns:
        The job model, with the next version, or the version of `previous` if nothing changed.

    Raises:
        ExpansionError: a stream changed in a way that this run can't follow; a plan made with `previous` rules it out.
        ValueError: `processors` is empty, or `previous` is damaged.
    """
    if processors is None:
        processors = {str(number): ANY_LOCATION for number in range(plan.app.spec.processors.count)}
    same_run = previous if previous is not None and previous.run_id == plan.run_id else None
    grouping = _group(plan, same_run, processors)
    tasks = same_run.tasks if same_run is not None else {}
    locality = {name: task.location for name, task in tasks.items() if task.location is not None}
    former = {name: task.former_location for name, task in tasks.items() if task.former_location is not None}
    before = {name: task.processor for name, task in tasks.items()}
    assignment = assign(grouping.tasks, processors, locality, before, former)
    model = JobModel(
        version=1 if previous is None else previous.version,
        run_id=plan.run_id,
        streams={
            name: _stream_partitions(stream, None if same_run is None else same_run.streams.get(name), now)
            for name, stream in plan.streams.items()
            if stream.role is not StreamRole.OUTPUT
        },
        tasks={
            name: TaskModel(
                ssps=grouping.tasks[name],
                changelog_partition=grouping.changelog[name],
                processor=assignment.processors[name],
                location=locality.get(name),
                former_location=former.get(name),
            )
            for name in sorted(grouping.tasks, key=natural_key)
        },
        processors={id_: ProcessorModel(location=processors[id_]) for id_ in sorted(processors, key=natural_key)},
        grouper=plan.app.spec.job.grouper,
        partition_keys=plan.partition_keys,
        stores={**dict.fromkeys({} if same_run is None else same_run.stores, REMOVED), **plan.stores},
        changelog={**_changelog(same_run), **grouping.changelog},
        transactional_ids=_transactional_ids(plan, same_run, processors),
    )
    if previous is None or model == previous:
        return model
    return model.model_copy(update={"version": previous.version + 1})


def _stream_partitions(stream: PlannedStream, before: StreamPartitions | None, now: int | None) -> StreamPartitions:
    grown_at = None if before is None else before.grown_at
    if before is not None and stream.initial_partitions < stream.partitions != before.partitions:
        grown_at = now
    return StreamPartitions(
        initial_partitions=stream.initial_partitions, partitions=stream.partitions, grown_at=grown_at
    )


def _group(plan: Plan, previous: JobModel | None, processors: Iterable[str]) -> Grouping:
    streams = {
        name: GroupedStream(system=stream.system, partitions=stream.partitions, broadcast=stream.broadcast)
        for name, stream in plan.streams.items()
        if stream.role is not StreamRole.OUTPUT and stream.consumers
    }
    history = PreviousGrouping()
    if previous is not None:
        read = {ssp.stream for task in previous.tasks.values() for ssp in task.ssps}
        history = PreviousGrouping(
            tasks={name: task.ssps for name, task in previous.tasks.items()},
            streams={
                name: StreamHistory(initial=stream.initial_partitions, partitions=stream.partitions)
                for name, stream in previous.streams.items()
                if name in read
            },
            changelog=_changelog(previous),
        )
    job = plan.app.spec.job
    return group_partitions(
        job.grouper,
        streams,
        stateful=plan.stateful,
        processors=processors,
        algorithm=plan.expansion,
        previous=history,
    )


def _changelog(previous: JobModel | None) -> dict[str, int]:
    """Return the changelog partition of every task a run ever had."""
    if previous is None:
        return {}
    return {name: task.changelog_partition for name, task in previous.tasks.items()} | dict(previous.changelog)


def _transactional_ids(plan: Plan, previous: JobModel | None, processors: Iterable[str]) -> tuple[str, ...]:
    now = {plan.transactional_prefix + processor for processor in processors}
    return tuple(sorted(now.union(() if previous is None else previous.transactional_ids), key=natural_key))
