"""Checks of the names of a graph: unknown, unused, read where they can't be, or in cycles."""

import difflib
from collections.abc import Collection, Iterator

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.problems import Problem, ProblemCode, path_text
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.systems import SystemKind

_COMPARISONS = 10_000  # suggestions cost time in names x unknown names: enough for some, bounded for all


def check_graph(graph: Graph) -> Iterator[Problem]:
    """Return the problems of names and their use (docs/planner.md), in no particular order."""
    names = _Names(graph)
    yield from _check_inputs(graph, names)
    yield from _check_targets(graph, names)
    yield from _check_operators_are_read(graph)
    yield from _check_streams(graph, names)
    yield from _check_tables(graph, names)
    for cycle in graph.cycles:
        yield _problem(
            graph.operators[cycle[0]].path("from"),
            ProblemCode.CYCLE,
            f"operators feed themselves: {' -> '.join(f'`{name}`' for name in cycle)}; an app is a graph without "
            "cycles, so one of them has to read something else",
        )


class _Names:
    """The names of an app, and suggestions for unknown ones."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._readable = (*graph.spec.streams, *graph.operators)
        self._comparisons = _COMPARISONS

    def hint(self, unknown: str, known: Collection[str]) -> str:
        if len(known) > self._comparisons:
            return ""
        self._comparisons -= len(known)
        close = difflib.get_close_matches(unknown, known, n=1)
        return f"; did you mean `{close[0]}`?" if close else ""

    def unknown_input(self, path: str, name: str) -> Problem:
        if name in self._graph.spec.tables:
            hint = "; it is a table: look it up with joinTable"
        else:
            hint = self.hint(name, self._readable)
        return _problem(path, ProblemCode.UNKNOWN_STREAM, f"`{name}` is neither a stream nor an operator{hint}")

    def unknown_stream(self, path: str, name: str, use: str) -> Problem:
        if name in self._graph.operators:
            hint = f"; it is an operator, and {use}"
        else:
            hint = self.hint(name, self._graph.spec.streams)
        return _problem(path, ProblemCode.UNKNOWN_STREAM, f"`{name}` is no stream{hint}")


def _check_inputs(graph: Graph, names: _Names) -> Iterator[Problem]:
    for operator in graph.operators.values():
        for position, name in enumerate(operator.inputs):
            source = graph.operators.get(name)
            if source is not None:
                if source.kind.terminal:
                    yield _terminal_read(operator.input_path(position), source)
            elif name in graph.opaque:
                continue
            elif name not in graph.spec.streams:
                yield names.unknown_input(operator.input_path(position), name)
            elif name in graph.senders:
                yield _read_back(graph, operator.input_path(position), name)
            elif name in graph.side_inputs:
                yield _side_input_read(graph, operator.input_path(position), name)
        if operator.kind is OperatorKind.JOIN and operator.inputs[0] == operator.inputs[1]:
            yield _problem(
                operator.path("join", "with"),
                ProblemCode.JOIN_SIDES_EQUAL,
                f"both sides of the join are `{operator.inputs[0]}`; put a map before each to join it with itself",
            )


def _check_targets(graph: Graph, names: _Names) -> Iterator[Problem]:
    spec = graph.spec
    for operators, field in ((graph.joiners, ("joinTable", "table")), (graph.fillers, ("sendToTable",))):
        for table in operators:
            if table not in spec.tables and table not in graph.opaque:
                hint = names.hint(table, spec.tables) or "; declare it under spec.tables"
                for operator in operators[table]:
                    yield _problem(operator.path(*field), ProblemCode.UNKNOWN_TABLE, f"`{table}` is no table{hint}")
    for stream in graph.senders:
        if stream not in spec.streams and stream not in graph.opaque:
            for operator in graph.senders[stream]:
                yield names.unknown_stream(operator.path("sendTo"), stream, "sendTo takes a stream")


def _check_operators_are_read(graph: Graph) -> Iterator[Problem]:
    if graph.incomplete:
        return
    for name, operator in graph.operators.items():
        if name not in graph.readers and not operator.kind.terminal and operator.shared_stream is None:
            yield _problem(
                operator.path(),
                ProblemCode.UNUSED_OPERATOR,
                f"no operator reads `{name}`: send its rows somewhere with sendTo or sendToTable, or remove it",
            )


def _check_streams(graph: Graph, names: _Names) -> Iterator[Problem]:
    spec = graph.spec
    used = (graph.readers, graph.senders, graph.side_inputs)
    for name, stream in spec.streams.items():
        path = path_text(("spec", "streams", name))
        if not (graph.incomplete or name in graph.opaque or any(name in users for users in used)):
            yield _problem(path, ProblemCode.UNUSED_STREAM, f"`{name}` is neither read, written nor a side input")
        if stream.system not in spec.systems and stream.system not in graph.opaque:
            yield _unknown_system(graph, names, f"{path}.system", stream.system)
        if name in graph.senders:
            yield from _written_where_read(graph, name, path)
    default = spec.default_system
    if default is not None and default not in spec.systems and default not in graph.opaque:
        yield _unknown_system(graph, names, "spec.defaultSystem", default)


def _check_tables(graph: Graph, names: _Names) -> Iterator[Problem]:
    for name, table in graph.spec.tables.items():
        path = path_text(("spec", "tables", name))
        fillers = graph.fillers.get(name, ())
        if name not in graph.joiners and not graph.incomplete:
            yield _problem(
                path, ProblemCode.UNUSED_TABLE, f"no operator joins `{name}`; look it up with joinTable, or remove it"
            )
        if not (table.side_inputs or fillers or graph.incomplete):
            yield _problem(
                path, ProblemCode.TABLE_NOT_FILLED, f"nothing fills `{name}`: give it sideInputs, or a sendToTable"
            )
        if table.side_inputs and fillers:
            yield _problem(
                path,
                ProblemCode.TABLE_FILLED_TWICE,
                f"`{name}` is filled by side inputs and by `{fillers[0].name}`, which could not be recovered as one; "
                "use two tables, or read the side inputs as streams and send them to the table",
            )
        for position, stream in enumerate(table.side_inputs):
            side = f"{path}.sideInputs[{position}]"
            if stream in graph.opaque:
                continue
            if stream not in graph.spec.streams:
                yield names.unknown_stream(side, stream, "operators fill a table with sendToTable")
            elif stream in graph.senders:
                yield _read_back(graph, side, stream)


def _terminal_read(path: str, source: Operator) -> Problem:
    return _problem(
        path,
        ProblemCode.TERMINAL_OPERATOR,
        f"`{source.name}` is a {source.kind}, which emits nothing; read its input instead: `{source.inputs[0]}`",
    )


def _side_input_read(graph: Graph, path: str, name: str) -> Problem:
    return _problem(
        path,
        ProblemCode.SIDE_INPUT_READ,
        f"`{name}` is a side input of table `{graph.side_inputs[name][0]}`, so its messages only fill the table; "
        "declare a second stream with the same `name` and read that",
    )


def _read_back(graph: Graph, path: str, name: str) -> Problem:
    return _problem(
        path,
        ProblemCode.OUTPUT_READ_BACK,
        f"`{name}` is an output (`{graph.senders[name][0].name}` sends to it), and an app can't read its outputs; use "
        "partitionBy to regroup rows inside an app",
    )


def _written_where_read(graph: Graph, name: str, path: str) -> Iterator[Problem]:
    """Find files that an output would write to the folder that another stream reads."""
    spec = graph.spec
    stream = spec.streams[name]
    system = spec.systems.get(stream.system)
    if system is None or system.kind is not SystemKind.FILE:
        return
    for other, read in spec.streams.items():
        same = (read.system, read.name or other) == (stream.system, stream.name or name)
        if same and other != name and (other in graph.readers or other in graph.side_inputs):
            yield _problem(
                path,
                ProblemCode.OUTPUT_READ_BACK,
                f"`{name}` would be written to `{read.name or other}`, which is what `{other}` reads; give it a `name` "
                "of its own",
            )


def _unknown_system(graph: Graph, names: _Names, path: str, name: str) -> Problem:
    hint = names.hint(name, graph.spec.systems) or f"; declared: {', '.join(graph.spec.systems)}"
    return _problem(path, ProblemCode.UNKNOWN_SYSTEM, f"`{name}` is no system{hint}")


def _problem(path: str, code: ProblemCode, message: str) -> Problem:
    return Problem(path=path, code=code, message=message)
