"""The grouper `stream-partition` gives every partition a task of its own, so that streams never meet in one."""

from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.join_groups import JoinWalk, Reach
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.spec.job import Grouper

_REPAIR = Repair(
    text="set `spec.job.grouper` to `partition`",
    edits=(Edit(op="add", pointer="/spec/job/grouper", value=Grouper.PARTITION.value),),
)


def check_grouper(graph: Graph, walk: JoinWalk) -> Iterator[Problem]:
    """Find the joins and groups whose rows come from several streams, under `stream-partition`."""
    if graph.spec.job.grouper is not Grouper.STREAM_PARTITION:
        return
    reach = Reach(walk)
    apart = [(name, streams) for name in walk.tied if len(streams := reach.group(name)) > 1]
    if apart:
        name, streams = min(apart, key=lambda item: graph.operators[item[0]].index)
        others = f" and {len(apart) - 1} other operator{'s' if len(apart) > 2 else ''}" if len(apart) > 1 else ""  # noqa: PLR2004
        yield Problem(
            path="spec.job.grouper",
            code=ProblemCode.GROUPER_UNSUPPORTED,
            message=f"rows of {', '.join(f'`{stream}`' for stream in sorted(streams))} meet in `{name}`{others}, and "
            f"the grouper `stream-partition` has a task for each partition of each of them, so that no two of them are "
            f"ever in one task: {_REPAIR.text}",
            repair=_REPAIR,
        )
