"""The time that planning takes, and how it grows: chains, stars and layered diamonds, and chains of expressions."""

import gc
import time
from collections.abc import Callable, Iterable, Iterator

from streamapp_core.graph import build_graph, check_graph, reaching_streams
from streamapp_core.graph.broadcast_names import broadcast_names
from streamapp_core.plan import plan
from streamapp_core.plan.check_expansion import StreamCount
from streamapp_core.plan.partition_counts import count_partitions
from streamapp_core.spec.app import Metadata, StreamApp, StreamAppSpec
from streamapp_core.spec.operators import Merge, OperatorSpec, PartitionBy
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import LogSystem, SystemSpec

ROUNDS = 5


def chain(size: int) -> Iterator[OperatorSpec]:
    """One operator after the other; each hundredth makes an intermediate stream."""
    yield from _steps(size, lambda number: "in" if number == 0 else f"o{number - 1}")
    yield OperatorSpec.model_construct(name="out", from_=f"o{size - 1}", send_to="sink")


def star(size: int) -> Iterator[OperatorSpec]:
    """Every operator reads the same stream, and one reads them all."""
    yield from _steps(size, lambda _: "in")
    yield OperatorSpec.model_construct(name="all", from_=tuple(f"o{number}" for number in range(size)), merge=Merge())
    yield OperatorSpec.model_construct(name="out", from_="all", send_to="sink")


def diamonds(size: int) -> Iterator[OperatorSpec]:
    """Layers of two operators, each of which reads both of the layer before: 2^(size / 2) paths."""
    below = ("in",)
    for layer in range(size // 2):
        yield OperatorSpec.model_construct(name=f"a{layer}", from_=below, merge=Merge())
        yield OperatorSpec.model_construct(name=f"b{layer}", from_=below, merge=Merge())
        below = (f"a{layer}", f"b{layer}")
    yield OperatorSpec.model_construct(name="both", from_=below, merge=Merge())
    yield OperatorSpec.model_construct(name="out", from_="both", send_to="sink")


def expressions(size: int) -> Iterator[OperatorSpec]:
    """One filter or map after the other."""
    kinds = ({"filter": "v > 0"}, {"map": "k, v + 1 as v"}, {"filter": "k = 'a' or v < 7"}, {"map": "k, abs(v) as v"})
    for number in range(size):
        reads = "in" if number == 0 else f"o{number - 1}"
        yield OperatorSpec.model_construct(name=f"o{number}", from_=reads, **kinds[number % len(kinds)])
    yield OperatorSpec.model_construct(name="out", from_=f"o{size - 1}", send_to="sink")


def _steps(size: int, reads: Callable[[int], str]) -> Iterator[OperatorSpec]:
    for number in range(size):
        kind = {"partition_by": PartitionBy(key="k")} if number % 100 == 99 else {"merge": Merge()}
        yield OperatorSpec.model_construct(name=f"o{number}", from_=reads(number), **kind)


def parsed(operators: Iterable[OperatorSpec]) -> ParsedApp:
    """Make an app of operators, without the bounds that the models have."""
    text = "k string, v int"
    streams = {
        "in": StreamSpec.model_construct(system="log", stream_schema=text, key="k"),
        "sink": StreamSpec.model_construct(system="log"),
    }
    spec = StreamAppSpec.model_construct(
        systems={"log": SystemSpec(log=LogSystem(path="log"))},
        default_system="log",
        streams=streams,
        operators=tuple(operators),
    )
    app = StreamApp.model_construct(metadata=Metadata(name="app"), spec=spec)
    return ParsedApp(app=app, problems=(), broken=frozenset())


def graph_level(app: ParsedApp) -> None:
    """Do all that does not look at rows: names, cycles, walks, join groups and partition counts."""
    assert app.app is not None
    graph = build_graph(app.app.spec)
    problems = list(check_graph(graph))
    reaching_streams(graph)
    one = StreamCount(partitions=1, initial=1)
    count_partitions(graph, {"in": one, "sink": one}, {}, broadcast_names(graph))
    assert not problems, problems[:3]


def whole(app: ParsedApp) -> None:
    """Plan the app."""
    result = plan(app, {"in": 1, "sink": 1})
    assert result.plan is not None, result.problems[:3]


def milliseconds(work: Callable[[ParsedApp], None], app: ParsedApp) -> float:
    """Do something several times, without the garbage collector as `timeit` does; give the shortest processor time."""
    shortest = float("inf")
    gc.disable()
    for _ in range(ROUNDS):
        start = time.process_time()
        work(app)
        shortest = min(shortest, time.process_time() - start)
        gc.collect()
    gc.enable()
    return shortest * 1000


def main() -> None:
    """Print the time per shape and size."""
    print(f"{'shape':<12}{'operators':>10}{'graph level':>15}{'whole plan':>15}")
    for shape in (chain, star, diamonds, expressions):
        for size in (120, 1_000, 10_000, 100_000):
            app = parsed(shape(size))
            times = [milliseconds(work, app) for work in (graph_level, whole)]
            print(f"{shape.__name__:<12}{size:>10,}" + "".join(f"{time:>12.1f} ms" for time in times))


if __name__ == "__main__":
    main()
