"""Edits that the state of a run can't survive: they need a new run id (docs/edits.md)."""

from collections.abc import Collection, Iterator

from streamapp_core.graph.graph import Graph, written_name
from streamapp_core.plan.assemble_plan import Draft
from streamapp_core.plan.check_expansion import NEW_RUN
from streamapp_core.plan.delivery import default_system
from streamapp_core.plan.previous_run import REMOVED, PartitionKey, PreviousRun
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.base import key_columns
from streamapp_core.spec.job import Grouper
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.ssp import Ssp
from streamapp_core.tasks import plain_task


def check_run_id(graph: Graph, previous: PreviousRun, draft: Draft) -> Iterator[Problem]:
    """Find edits that need a new run id: of the grouper, of an intermediate stream, of the shape of a store.

    And of the streams, if the task goes that writes the rows which every task has.
    """
    partition_keys, stores = draft.partition_keys, draft.stores
    grouper = graph.spec.job.grouper
    if previous.known_grouper not in (None, grouper):
        yield _run_id_required(
            "spec.job.grouper",
            f"this run's tasks were made by the grouper `{previous.known_grouper}`, and `{grouper}` would give them "
            "other partitions than those of their state",
        )
    for name, key in previous.partition_keys.items():
        if name in partition_keys:
            if partition_keys[name] != key:
                yield _other_key(graph, name, key, partition_keys[name])
        elif name not in graph.opaque and not graph.incomplete:
            yield _run_id_required(
                "spec.operators",
                f"this run has rows on their way in the intermediate stream `{name}`, which no operator makes now",
            )
    yield from _check_broadcast_writer(graph, previous, draft.broadcast)
    yield from _check_broadcast_readers(draft, previous)
    for name, shape in previous.stores.items():
        if name in stores and stores[name] != shape:
            path = f"spec.tables.{name}" if name in graph.spec.tables else graph.operators[name].path()
            yield _run_id_required(path, _reshaped(name, shape))
        elif name not in stores and shape != REMOVED:
            yield from _check_query(graph, name)


def _reshaped(name: str, shape: str) -> str:
    if shape == REMOVED:
        return (
            f"the state that `{name}` had in this run before it was removed has missed rows since; give it another "
            "name, with which it starts with nothing"
        )
    return f"the state of `{name}` in this run has another shape than this edit needs"


def _check_query(graph: Graph, store: str) -> Iterator[Problem]:
    """Find that a query would go on without a step that has state: another one would start with nothing, unseen."""
    query = written_name(store)
    steps = [operator for operator in graph.operators.values() if written_name(operator.name) == query]
    if steps and query not in graph.opaque and (steps[0].in_sql or query != store):
        yield _run_id_required(
            steps[0].path(),
            f"the step `{store}` of this query has state in this run, and is gone now or has another name",
        )


def _check_broadcast_writer(graph: Graph, previous: PreviousRun, broadcast: Collection[str]) -> Iterator[Problem]:
    """Find that other tasks would go on with broadcast rows: each is at another place in them."""
    if previous.known_grouper is not Grouper.STREAM_PARTITION or graph.incomplete:
        return
    written = sorted(name for name in graph.readers if name in broadcast and name in previous.streams)
    owned = _owned_streams(graph, broadcast)
    source = previous.broadcast_writer_stream
    stays = source in owned if source is not None else not owned
    if written and not stays and source not in graph.opaque:
        yield _run_id_required(
            "spec.operators",
            f"what comes of `{written[0]}`, which every task reads, was written in this run by a task "
            + ("of its own" if source is None else f"of `{source}`, which no task reads alone now"),
        )


def _check_broadcast_readers(draft: Draft, previous: PreviousRun) -> Iterator[Problem]:
    """Find that new tasks would need the broadcast rows of the run's beginning, some of which are deleted by now."""
    graph, counts = draft.graph, draft.counts.counts
    broadcast = [operator.name for operator in graph.of_kinds(OperatorKind.BROADCAST) if operator.name in graph.readers]
    known = [name for name in broadcast if name in previous.streams]
    grouper = graph.spec.job.grouper
    if not draft.stateful or not known or graph.incomplete or grouper is Grouper.ALL:
        return
    new_streams = (_owned_streams(graph, draft.broadcast) & counts.keys()) - previous.streams.keys()
    for name in sorted(new_streams):
        stream = graph.spec.streams.get(name)
        path = graph.operators[name].path() if stream is None else f"spec.streams.{name}"
        system = default_system(graph.spec) if stream is None else stream.system
        count = counts[name].partitions
        tasks = (plain_task(grouper, Ssp(system or "", name, partition)) for partition in range(count))
        new = next((task for task in tasks if task not in previous.tasks), None)
        if new is not None:
            yield _run_id_required(
                path,
                f"the {count} partitions of `{name}` would bring this run the new task `{new}`, which needs all rows "
                f"of `{known[0]}` from the beginning, and those that every task had read are deleted",
            )


def _owned_streams(graph: Graph, broadcast: Collection[str]) -> set[str]:
    """Return the streams of which each task has partitions of its own."""
    read = graph.readers.keys() | graph.side_inputs.keys()
    streams = {name for name in read if name in graph.spec.streams}
    streams |= {operator.name for operator in graph.regrouped if operator.name in read}
    return streams - set(broadcast)


def _other_key(graph: Graph, name: str, before: PartitionKey, now: PartitionKey) -> Problem:
    operator = graph.operators[name]
    path = operator.path(operator.kind) if now is None else operator.path("partitionBy", "key")
    was, is_ = (f"by {_listed(key)}" if key else "broadcast" for key in (before, now))
    return _run_id_required(path, f"the rows of `{name}` were partitioned {was} in this run, and are {is_} now")


def _listed(key: PartitionKey) -> str:
    return ", ".join(f"`{column}`" for column in key_columns(key))


def _run_id_required(path: str, reason: str) -> Problem:
    return Problem(path=path, code=ProblemCode.RUN_ID_REQUIRED, message=f"{reason}; {NEW_RUN}, or undo the edit")
