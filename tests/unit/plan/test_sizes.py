"""Planning takes work in proportion to operators and edges, whatever the shape, and never recurses.

Work is counted in executed bytecode instructions, so that the result does not depend on the machine or its load.
"""

import sys
from itertools import pairwise

import pytest
from benchmarks import planner

from streamapp_core.graph import build_graph, check_graph, feeding_streams
from streamapp_core.plan.check_expansion import StreamCount
from streamapp_core.plan.partition_counts import count_partitions
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.operators import Join, JoinTable, Merge, OperatorSpec, PartitionBy
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import LogSystem, SystemSpec
from streamapp_core.spec.tables import TableSpec

SMALL, LARGE = 200, 1_600  # the large one is deeper than the limit of recursion


def operator(name, reads, **kind):
    return OperatorSpec.model_construct(name=name, from_=reads, **kind)


def chain(size):
    return [operator(f"o{n}", "in" if n == 0 else f"o{n - 1}", merge=Merge()) for n in range(size)]


def star(size):
    rays = [operator(f"o{n}", "in", partition_by=PartitionBy(key="k")) for n in range(size)]
    return [*rays, operator("all", tuple(ray.name for ray in rays), merge=Merge())]


def diamonds(size):
    layers = [("in",), *((f"a{n}", f"b{n}") for n in range(size // 2))]
    return [operator(name, below, merge=Merge()) for below, layer in pairwise(layers) for name in layer]


def joins(size):
    """Each join takes the one before and a new intermediate stream: groups of up to `size` streams."""
    made = [operator(f"p{n}", "in", partition_by=PartitionBy(key="k")) for n in range(size // 2)]
    return [
        *made,
        *(
            operator(
                f"j{n}",
                f"j{n - 1}" if n else "in",
                join=join_with(f"p{n}"),
            )
            for n in range(size // 2)
        ),
    ]


def join_with(other):
    return Join.model_validate({"with": other, "on": "k", "within": "1h"})


def tables(size):
    """Each table is filled from the join with the one before it, and the last fills the first: one long loop."""
    count = size // 2
    return [
        *(operator(f"j{n}", "in", join_table=JoinTable(table=f"t{n}", on="k")) for n in range(count)),
        *(operator(f"f{n}", f"j{n}", send_to_table=f"t{(n + 1) % count}") for n in range(count)),
    ]


def unknown_names(size):
    return [operator(f"o{n}", f"x{n}", merge=Merge()) for n in range(size)]


def graph_level(operators):
    """Do all that does not look at rows: names, cycles, walks, join groups and partition counts."""
    spec = StreamAppSpec.model_construct(
        systems={"log": SystemSpec(log=LogSystem(path="log"))},
        streams={"in": StreamSpec(system="log")},
        tables={f"t{n}": TableSpec(key="k") for n in range(len(operators) // 2)},
        operators=tuple(operators),
    )

    def work():
        graph = build_graph(spec)
        list(check_graph(graph))
        feeding_streams(graph)
        count_partitions(graph, {"in": StreamCount(partitions=4, initial=4)}, {}, frozenset())

    return work


def instructions(work):
    """Count the bytecode instructions that a function executes."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", [chain, star, diamonds, joins, tables, unknown_names])
def test_work_grows_with_the_size(shape):
    growth = LARGE / SMALL
    small, large = (instructions(graph_level(shape(size))) for size in (SMALL, LARGE))
    assert small > SMALL
    assert large < 1.1 * growth * small


@pytest.mark.parametrize("work, most", [(planner.graph_level, 700), (planner.whole, 1_300)])
def test_an_operator_with_an_expression_costs_few_instructions(work, most):
    app = planner.parsed(planner.expressions(LARGE))
    work(app)  # an expression is checked once
    assert instructions(lambda: work(app)) < most * LARGE


def test_more_than_linear_work_is_noticed():
    def quadratic(size):
        return lambda: [None for _ in range(size) for _ in range(size)]

    assert instructions(quadratic(400)) > 3 * instructions(quadratic(200))
