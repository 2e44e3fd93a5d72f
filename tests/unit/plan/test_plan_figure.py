from itertools import pairwise

from streamapp_core.plan.plan_figure import NodeKind, draw_plan
from support.plan_documents import accepted, document

STREAMS = {"in": "k string", "side": "k string, v int", "out": {}}
TABLES = {"t": {"key": "k", "sideInputs": ["side"]}, "u": {"key": "k", "schema": "k string, v int"}}
FIRST = {"name": "by", "from": "in", "partitionBy": {"key": "k"}}
LOOK = {"name": "look", "from": "by", "joinTable": {"table": "t", "on": "k"}}


def drawn(*operators):
    app = document([FIRST, LOOK, *operators], streams=STREAMS, tables=TABLES)
    figure = draw_plan(accepted(app, {"in": 2, "side": 3}))
    return figure, {node.name: node for node in figure.nodes}


def test_rows_go_from_left_to_right():
    figure, nodes = drawn(
        {"name": "fill", "from": "look", "sendToTable": "u"},
        {"name": "again", "from": "by", "joinTable": {"table": "u", "on": "k"}},
        {"name": "o", "from": "again", "sendTo": "out"},
    )
    columns = {node.id: node.column for node in figure.nodes}
    assert all(columns[edge.source] < columns[edge.target] for edge in figure.edges)
    way = ["in", "by", "look", "fill", "u", "again", "o", "out"]
    assert all(nodes[after].column == nodes[before].column + 1 for before, after in pairwise(way))
    assert (nodes["by"].kind, nodes["t"].kind) == (NodeKind.INTERMEDIATE, NodeKind.TABLE)


def test_a_table_that_is_filled_with_what_was_looked_up_in_it_is_drawn_too():
    figure, nodes = drawn(
        {"name": "key", "from": "look", "map": "k"},
        {"name": "again", "from": "key", "joinTable": {"table": "u", "on": "k"}},
        {"name": "fill", "from": "again", "sendToTable": "u"},
        {"name": "o", "from": "again", "sendTo": "out"},
    )
    assert nodes["fill"].column < nodes["u"].column
    before = {edge.source for edge in figure.edges if edge.target == nodes["again"].id}
    assert before == {nodes["key"].id, nodes["u"].id}
