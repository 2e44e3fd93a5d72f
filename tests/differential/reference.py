"""What an app means, as one DuckDB query for each of its outputs: derived from the spec alone.

All rows are there at once, so there are no tasks, watermarks, shuffles or commits. An edge is a query with the columns
of the edge and the event time `t` (milliseconds). What an aggregate emits replaces earlier results of its key: such an
edge is the final table, and its rows are told apart by the key (`Edge.key`).
"""

from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa

HOUR = 3_600_000


@dataclass(frozen=True, kw_only=True)
class Edge:
    """Rows as a query; `key` are the columns by which a later row replaces an earlier one (None: it never does)."""

    sql: str
    key: tuple[str, ...] | None = None


def results(document: dict[str, Any], tables: dict[str, pa.Table]) -> dict[str, tuple[tuple[str, ...] | None, list]]:
    """Return the key and the rows of every output, by stream.

    Args:
        document: the app.
        tables: the rows of each input with its declared columns, and the event time `t`.
    """
    spec = document["spec"]
    edges = {name: Edge(sql=f'SELECT * FROM "{name}"') for name in tables}
    found = {}
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            connection.register(name, rows)
        for operator in _ordered(spec["operators"]):
            edge = _edge(operator, edges, spec)
            edges[operator["name"]] = edge
            if "sendTo" in operator:
                query = f"SELECT id, k, g, v FROM ({edge.sql})"
                found[operator["sendTo"]] = (edge.key, connection.execute(query).fetchall())
    return found


def _ordered(operators: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the operators, each after what it reads: that is how they were made."""
    return operators


def _edge(operator: dict[str, Any], edges: dict[str, Edge], spec: dict[str, Any]) -> Edge:
    inputs = [edges[name] for name in _inputs(operator)]
    first = inputs[0]
    if "filter" in operator:
        return replace(first, sql=f"SELECT * FROM ({first.sql}) WHERE {operator['filter']}")
    if "map" in operator:
        return _mapped(operator["map"], first)
    if "merge" in operator:
        return Edge(sql=" UNION ALL ".join(f"SELECT id, k, g, v, t FROM ({edge.sql})" for edge in inputs))
    if "join" in operator:
        return _joined(operator["join"], first, inputs[1])
    if "joinTable" in operator:
        return _enriched(operator["joinTable"], first, spec)
    if "aggregate" in operator:
        by = ", ".join(operator["aggregate"]["by"])
        sql = f"SELECT {by}, {operator['aggregate']['select']}, max(t) AS t FROM ({first.sql}) GROUP BY {by}"
        return Edge(sql=sql, key=tuple(operator["aggregate"]["by"]))
    if "window" in operator:
        return _windowed(operator["window"], first)
    return first  # partitionBy, broadcast and sendTo change no rows


def _inputs(operator: dict[str, Any]) -> list[str]:
    reads = operator["from"]
    others = [operator["join"]["with"]] if "join" in operator else []
    return [*([reads] if isinstance(reads, str) else reads), *others]


def _mapped(columns: str, edge: Edge) -> Edge:
    """Apply a select list; a key stays as long as all its columns do, under their new names."""
    sql = f"SELECT {columns}, t FROM ({edge.sql})"
    if edge.key is None:
        return Edge(sql=sql)
    names = {}
    for column in columns.split(", "):
        source, _, name = column.partition(" as ")
        names.setdefault(source, name or source)
    kept = set(edge.key) <= set(names)
    return Edge(sql=sql, key=tuple(names[column] for column in edge.key) if kept else None)


def _joined(join: dict[str, Any], left: Edge, right: Edge) -> Edge:
    on = join["on"]
    sql = f"""
        SELECT l.id, coalesce(l.{on["left"]}, r.{on["right"]}) AS k, l.g, l.v, r.rid, r.rg, r.rv,
               greatest(l.t, r.t) AS t
        FROM ({left.sql}) AS l {join["type"]} JOIN ({right.sql}) AS r
        ON l.{on["left"]} = r.{on["right"]} AND abs(l.t - r.t) <= {HOUR}"""
    return Edge(sql=sql)


def _enriched(join: dict[str, Any], edge: Edge, spec: dict[str, Any]) -> Edge:
    table = spec["tables"][join["table"]]
    stored = f'SELECT {table["key"]} AS key, {table["value"]} FROM "{table["sideInputs"][0]}"'
    sql = f"SELECT l.*, r.size FROM ({edge.sql}) AS l {join['type']} JOIN ({stored}) AS r ON l.{join['on']} = r.key"
    return replace(edge, sql=sql)


def _windowed(window: dict[str, Any], edge: Edge) -> Edge:
    by = ", ".join(window["by"])
    if "tumbling" in window:
        bounds = f"SELECT *, t // {HOUR} * {HOUR} AS s, t // {HOUR} * {HOUR} + {HOUR} AS e FROM ({edge.sql})"
    elif "sliding" in window:
        bounds = f"""SELECT x.*, (t // {HOUR} - back) * {HOUR} AS s, (t // {HOUR} - back) * {HOUR} + {2 * HOUR} AS e
                     FROM ({edge.sql}) AS x, (VALUES (0), (1)) AS b(back)"""
    else:
        bounds = f"""
            SELECT *, min(t) OVER (PARTITION BY {by}, n) AS s, max(t) OVER (PARTITION BY {by}, n) + {HOUR} AS e
            FROM (SELECT *, sum(far) OVER (PARTITION BY {by} ORDER BY t) AS n
                  FROM (SELECT *, CASE WHEN t - lag(t) OVER (PARTITION BY {by} ORDER BY t) > {HOUR} THEN 1 ELSE 0 END
                               AS far FROM ({edge.sql})))"""
    sql = f"SELECT {by}, {window['select']}, e - 1 AS t FROM ({bounds}) GROUP BY {by}, s, e"
    return Edge(sql=sql)
