"""The planner: a spec, the partition counts of its streams and the previous run become a plan, or all problems.

The Kubernetes operator, the local runner and the CLI call this one function (docs/planner.md).
"""

from collections.abc import Mapping

from streamapp_core.graph.broadcast_names import broadcast_names
from streamapp_core.graph.check_graph import check_graph
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.assemble_plan import Draft, assemble
from streamapp_core.plan.check_database_tables import check_replaced_rows
from streamapp_core.plan.check_expansion import ExpansionChecker, kept_counts
from streamapp_core.plan.check_file_outputs import check_file_outputs
from streamapp_core.plan.check_run_id import check_run_id
from streamapp_core.plan.declared_streams import check_outputs, read_schemas
from streamapp_core.plan.delivery import check_delivery
from streamapp_core.plan.partition_counts import PartitionCounts, check_total, count_external, count_partitions
from streamapp_core.plan.partition_mismatch import check_partitions
from streamapp_core.plan.plan import PlanResult
from streamapp_core.plan.previous_run import PreviousRun
from streamapp_core.plan.problem_collector import ProblemCollector
from streamapp_core.plan.row_schemas import flow_rows
from streamapp_core.plan.shared_streams import check_shared_streams
from streamapp_core.plan.sql_operators.derive_operators import derive_operators
from streamapp_core.plan.state_stores import keeps_state, partition_keys, store_shapes
from streamapp_core.plan.stream_types.check_changes import check_changes
from streamapp_core.plan.stream_types.check_event_time import check_event_time
from streamapp_core.plan.stream_types.check_grouper import check_grouper
from streamapp_core.plan.stream_types.check_keys import check_keys
from streamapp_core.plan.stream_types.check_multiplicity import check_multiplicity
from streamapp_core.plan.stream_types.check_written_changes import check_written_changes
from streamapp_core.plan.stream_types.infer_types import infer_types
from streamapp_core.plan.supported_features import check_supported
from streamapp_core.problems import Problem, ProblemCode, sorted_problems
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.tasks.expansion import AlgorithmLookup, CheckedAlgorithm, built_in_algorithm

DEFAULT_RUN_ID = "r1"


def plan(
    parsed: ParsedApp,
    streams: Mapping[str, int],
    previous: PreviousRun | None = None,
    *,
    run_id: str = DEFAULT_RUN_ID,
    algorithms: AlgorithmLookup = built_in_algorithm,
) -> PlanResult:
    """Plan an app, or find everything that is wrong with it.

    Args:
        parsed: the spec, with the problems of its shape.
        streams: the number of partitions of every external stream that exists.
        previous: the newest job model of the app; it is used only if the run id is the same.
        run_id: for an app that has none yet, neither in its spec nor from `previous`.
        algorithms: finds the expansion algorithm that the spec names.

    Returns:
        All problems, sorted by path, those of `parsed` included, and no others of what can't be read; the plan if there
        are none. The order of operators, streams and tables makes no difference.
    """
    if parsed.app is None:
        return PlanResult(problems=parsed.problems, plan=None)
    app = parsed.app
    run_id = app.spec.run_id or (previous.run_id if previous is not None else run_id)
    if previous is not None and previous.run_id != run_id:
        previous = None
    derived = derive_operators(app.spec, parsed.broken)
    draft, problems = _decide(derived.graph, streams, previous, algorithms)
    unread = {problem.path for problem in parsed.problems}
    problems = [*parsed.problems, *(found for found in (*derived.problems, *problems) if found.path not in unread)]
    if problems:
        return PlanResult(problems=sorted_problems(problems), plan=None)
    return PlanResult(problems=(), plan=assemble(app, run_id, draft, previous))


def _decide(
    graph: Graph, streams: Mapping[str, int], previous: PreviousRun | None, algorithms: AlgorithmLookup
) -> tuple[Draft, list[Problem]]:
    """Decide everything, as far as possible, and find all problems."""
    stateful = keeps_state(graph)
    broadcast = broadcast_names(graph)
    expansion, problems = _find_algorithm(graph, algorithms)
    checker = ExpansionChecker(previous, expansion, stateful=stateful)
    counts, found = _count(graph, streams, broadcast, checker, previous)
    problems += found
    collector = ProblemCollector()
    schemas = read_schemas(graph, collector)
    rows = flow_rows(graph, schemas, collector)
    check_outputs(graph, rows.schemas, collector)
    initial = {name: count.initial for name, count in counts.counts.items()}
    types = infer_types(graph, rows, broadcast, initial)
    draft = Draft(
        graph=graph,
        counts=counts,
        expansion=expansion,
        rows=rows,
        types=types,
        broadcast=broadcast,
        partition_keys=partition_keys(graph),
        stores=store_shapes(graph, rows, types),
        stateful=stateful,
    )
    problems += collector.problems
    problems += check_graph(graph)
    problems += check_delivery(graph, stateful=stateful)
    problems += check_supported(graph, rows)
    problems += check_event_time(graph, types)
    problems += check_shared_streams(graph)
    problems += check_keys(graph, rows, types, broadcast, initial)
    problems += check_multiplicity(graph, rows, types, broadcast)
    problems += check_changes(graph, rows, types)
    problems += check_written_changes(graph, types)
    problems += check_file_outputs(graph, rows.schemas, types)
    problems += check_replaced_rows(graph, types)
    problems += check_grouper(graph, counts.walk)
    problems += check_partitions(graph, counts, rows.tables, types)
    if previous is not None:
        problems += check_run_id(graph, previous, draft)
    return draft, problems


def _find_algorithm(graph: Graph, algorithms: AlgorithmLookup) -> tuple[CheckedAlgorithm | None, list[Problem]]:
    try:
        return algorithms(graph.spec.job.expansion_algorithm), []
    except (LookupError, TypeError) as error:
        text = str(error.args[0])
        return None, [Problem(path="spec.job.expansionAlgorithm", code=ProblemCode.INVALID_SPEC, message=text)]


def _count(
    graph: Graph,
    streams: Mapping[str, int],
    broadcast: frozenset[str],
    expansions: ExpansionChecker,
    previous: PreviousRun | None,
) -> tuple[PartitionCounts, list[Problem]]:
    external, problems = count_external(graph, streams, expansions)
    counts = count_partitions(graph, external, kept_counts(graph, previous), broadcast)
    return counts, [*problems, *check_total(counts.counts)]
