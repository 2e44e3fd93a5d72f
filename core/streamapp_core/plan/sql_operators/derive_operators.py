"""The operators of an app without SQL: each one that is a query becomes the steps that it means."""

from collections.abc import Sequence
from dataclasses import dataclass

from streamapp_core.graph.broadcast_names import broadcast_names
from streamapp_core.graph.build_graph import build_graph
from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.declared_streams import read_schemas
from streamapp_core.plan.problem_collector import ProblemCollector
from streamapp_core.plan.row_schemas import RowFollower
from streamapp_core.plan.sql_operators.query_steps import QuerySteps
from streamapp_core.plan.sql_operators.step_builder import Refused, StepBuilder
from streamapp_core.plan.sql_operators.written_sources import WrittenSources
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.operators import OperatorSpec
from streamapp_core.sql.query_parser import parse_query
from streamapp_core.sql.query_tree import Query, SqlIssue, located, relation_names


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedApp:
    """The graph of an app without SQL, and the problems of its queries. A query with problems is `opaque` in it."""

    graph: Graph
    problems: tuple[Problem, ...] = ()


def derive_operators(spec: StreamAppSpec, broken: frozenset[str]) -> DerivedApp:
    """Return the graph of a spec in which each operator in SQL has become its steps.

    The last step has the name of the operator, those before it begin with this name and a dot. `broken` are
    declarations that could not be read.
    """
    if all(operator.sql is None for operator in spec.operators):
        return DerivedApp(graph=build_graph(spec, broken))
    return _Derivation(spec, broken).make()


class _Derivation:
    def __init__(self, spec: StreamAppSpec, broken: frozenset[str]) -> None:
        self._spec = spec
        self._broken = set(broken)
        self._problems: list[Problem] = []
        self._incomplete: set[str] = set()
        self._queries = self._parse()
        reads = {name: relation_names(query) for name, query in self._queries.items()}
        known = {*spec.streams, *(operator.name for operator in spec.operators)}
        self._reads = {name: names & known for name, names in reads.items()}
        self._graph = build_graph(spec, self._broken, queries=self._reads)
        collector = ProblemCollector()
        self._follower = RowFollower(self._graph, read_schemas(self._graph, collector), collector)
        self._sources = WrittenSources(self._graph, self._follower, broadcast_names(self._graph))

    def _parse(self) -> dict[str, Query]:
        queries: dict[str, Query] = {}
        for index, operator in enumerate(self._spec.operators):
            if operator.sql is None or operator.name in self._broken:
                continue
            parsed = parse_query(operator.sql)
            for issue in parsed.issues:
                self._refuse(f"spec.operators[{index}].sql", located(operator.sql, issue))
            if parsed.query is None:
                self._broken.add(operator.name)
            else:
                queries[operator.name] = parsed.query
            if parsed.issues:
                self._incomplete.add(operator.name)
        return queries

    def _refuse(self, path: str, message: str, code: ProblemCode = ProblemCode.SQL_UNSUPPORTED) -> None:
        self._problems.append(Problem(path=path, code=code, message=message))

    def make(self) -> DerivedApp:
        steps: dict[str, Sequence[OperatorSpec]] = {}
        circles = {name: cycle for cycle in self._graph.cycles for name in cycle}
        for name, operator in self._graph.operators.items():
            if operator.spec.sql is None:
                self._follower.follow(operator)
            elif name in circles:
                shown = " -> ".join(f"`{other}`" for other in circles[name])
                self._refuse(operator.path("sql"), f"operators feed themselves: {shown}", ProblemCode.CYCLE)
                self._broken.add(name)
            else:
                steps[name] = self._derive(operator)
        operators: list[OperatorSpec] = []
        places: list[int] = []
        for index, spec in enumerate(self._spec.operators):
            made = steps.get(spec.name) or (spec,)
            operators += made
            places += [index] * len(made)
        derived = self._spec.model_copy(update={"operators": tuple(operators)})
        in_sql = [self._spec.operators[place].sql is not None for place in places]
        return DerivedApp(
            graph=build_graph(derived, self._broken, places, in_sql, self._reads), problems=tuple(self._problems)
        )

    def _derive(self, operator: Operator) -> Sequence[OperatorSpec]:
        """Return the steps of a query; of one with problems none, and of one that reads unknown columns a merge."""
        unknown = [name for name in sorted(self._reads[operator.name]) if self._follower.schemas.get(name) is None]
        if unknown:
            return [OperatorSpec.model_validate({"name": operator.name, "from": tuple(unknown), "merge": {}})]
        builder = StepBuilder(operator, self._follower)
        try:
            relation = QuerySteps(builder, self._sources).whole(self._queries[operator.name])
        except SqlIssue as issue:
            builder.refuse(issue)
        except Refused:
            pass
        else:
            if not builder.problems and operator.name not in self._incomplete:
                self._sources.remember(operator.name, relation)
                return builder.steps
        self._problems += builder.problems
        self._broken.add(operator.name)
        self._follower.schemas[operator.name] = None
        return ()
