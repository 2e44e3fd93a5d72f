"""What an app means, as one DuckDB query for each of its outputs: derived from the spec alone.

All rows are there at once, so there are no tasks, watermarks, shuffles or commits. An edge is a query with the columns
of the edge and the event time `t` (milliseconds). What an aggregate emits replaces earlier results of its key: such an
edge is the final table, and its rows are told apart by the key (`Edge.key`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa

from differential.reference_functions import called

HOUR = 3_600_000
_COLUMNS = ("id", "k", "g", "v")
UNITS = {"ms": 1, "m": 60_000, "h": HOUR}
_DATABASE = duckdb.connect(config={"threads": 1})
"""Empty; to make one takes longer than all queries of an app."""


@dataclass(frozen=True, kw_only=True)
class Edge:
    """Rows as a query; `key` are the columns by which a later row replaces an earlier one (None: it never does).

    Without `meaning` there is no one result: a function that is given running results sees as many as there happen to
    be.
    """

    sql: str
    key: tuple[str, ...] | None = None
    meaning: bool = True
    versions: "Versions | None" = None


@dataclass(frozen=True, kw_only=True)
class Versions:
    """What rows may have found in a table that operators fill: nothing, or any value that their key ever had there.

    `on` is the column by which rows look it up, `rows` the pairs of key and value. None: running results are put there,
    and there may be as many as there happen to be.
    """

    on: str
    rows: tuple[tuple[Any, int], ...] | None


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The rows of an output, and the columns by which the last row of each is taken (None: all rows).

    With `versions`, the output has one more column: what was found in a table.
    """

    key: tuple[str, ...] | None
    rows: list[tuple[Any, ...]]
    versions: Versions | None = None


def results(document: dict[str, Any], tables: Mapping[str, pa.Table], until: int) -> dict[str, Expected]:
    """Return the rows of every output that has one meaning, by stream.

    Args:
        document: the app.
        tables: the rows of each input with its declared columns, and the event time `t`.
        until: the time up to which watermarks come; there is no row between it and the watermark in the end. Results
            that wait for a later one are not emitted.
    """
    spec = document["spec"]
    edges = {name: Edge(sql=f'SELECT * FROM "{name}"', key=_changed_by(spec["streams"][name])) for name in tables}
    found = {}
    with _DATABASE.cursor() as connection:  # a cursor has views of its own
        for name, rows in tables.items():
            connection.register(name, rows)
        for operator in spec["operators"]:  # each comes after what it reads: that is how they were made
            inputs = [edges[name] for name in _inputs(operator)]
            edge = _edge(operator, inputs, spec, until)
            if "joinTable" in operator:
                edge = replace(edge, versions=_versions(connection, operator["joinTable"], spec, edges))
            edge = replace(edge, meaning=edge.meaning and all(read.meaning for read in inputs))
            edges[operator["name"]] = edge
            if "sendTo" in operator and edge.meaning:
                query = f"SELECT id, k, g, v FROM ({edge.sql})"
                rows_ = connection.execute(query).fetchall()
                found[operator["sendTo"]] = Expected(key=edge.key, rows=rows_, versions=edge.versions)
    return found


def _changed_by(stream: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the key of a stream of changes; its table has the newest rows."""
    if "changes" not in stream:
        return None
    return tuple([stream["key"]] if isinstance(stream["key"], str) else stream["key"])


def _edge(operator: dict[str, Any], inputs: list[Edge], spec: dict[str, Any], until: int) -> Edge:
    first = inputs[0]
    if "filter" in operator:
        return replace(first, sql=f"SELECT * FROM ({first.sql}) WHERE {operator['filter']}")
    if "map" in operator:
        return _mapped(operator["map"], first)
    if "flatMap" in operator:
        return Edge(sql=f"SELECT l.*, r.part FROM ({first.sql}) AS l, (VALUES ('x'), ('y')) AS r(part)")
    if "merge" in operator:
        return Edge(sql=" UNION ALL ".join(f"SELECT id, k, g, v, t FROM ({edge.sql})" for edge in inputs))
    if "join" in operator:
        return _joined(operator["join"], first, inputs[1], until)
    if "joinTable" in operator:
        return _enriched(operator["joinTable"], first, spec)
    if "aggregate" in operator:
        by = ", ".join(operator["aggregate"]["by"])
        sql = f"SELECT {by}, {operator['aggregate']['select']}, max(t) AS t FROM ({first.sql}) GROUP BY {by}"
        return Edge(sql=sql, key=tuple(operator["aggregate"]["by"]))
    if "topN" in operator:
        return _ranked(operator["topN"], first)
    if "over" in operator:
        return _with_last_rows(operator["over"], first, until)
    if "dedup" in operator:
        by = ", ".join(operator["dedup"]["by"])
        return Edge(
            sql=f"SELECT *, NULL AS t FROM (SELECT DISTINCT {by} FROM ({first.sql}))", meaning=first.key is None
        )
    if "window" in operator:
        return _windowed(operator["window"], first, until)
    if "process" in operator:
        return Edge(sql=called(operator["process"], first.sql, until), meaning=first.key is None)
    if "partitionBy" in operator and first.key is not None:  # a row that goes elsewhere is deleted where it was
        return replace(first, key=(*first.key, *_key_columns(operator["partitionBy"]).difference(first.key)))
    return first  # broadcast, sendTo and sendToTable change no rows


def _key_columns(regrouped: dict[str, Any]) -> set[str]:
    key = regrouped["key"]
    return {key} if isinstance(key, str) else set(key)


def _inputs(operator: dict[str, Any]) -> list[str]:
    reads = operator["from"]
    others = [operator["join"]["with"]] if "join" in operator else []
    return [*([reads] if isinstance(reads, str) else reads), *others]


def _mapped(columns: str, edge: Edge) -> Edge:
    """Apply a select list; a key stays as long as all its columns do, under their new names."""
    sql = f"SELECT {columns}, t FROM ({edge.sql})"
    if edge.key is None:
        return Edge(sql=sql)
    names: dict[str, str] = {}
    for column in columns.split(", "):
        source, _, name = column.removeprefix("cast(").replace(" as int)", "").partition(" as ")
        names.setdefault(source, name or source)
    kept = set(edge.key) <= set(names)
    return Edge(sql=sql, key=tuple(names[column] for column in edge.key) if kept else None)


def _joined(join: dict[str, Any], left: Edge, right: Edge, until: int) -> Edge:
    """Pair rows; one without a partner is emitted when none can come any more."""
    on, kind = join["on"], join.get("type", "inner")
    if isinstance(on, list):
        return _joined_by_same_names(join, left, right, until)
    if join.get("asOf"):
        return _versioned(join, left, right, until)
    near = f"abs(l.t - r.t) <= {HOUR}" if "within" in join else "true"
    sql = f"""
        SELECT l.id, coalesce(l.{on["left"]}, r.{on["right"]}) AS k, l.g, l.v, r.rid, r.rg, r.rv,
               greatest(l.t, r.t) AS t
        FROM ({left.sql}) AS l {kind} JOIN ({right.sql}) AS r
        ON l.{on["left"]} = r.{on["right"]} AND {near}
        WHERE (l.t IS NOT NULL AND r.t IS NOT NULL) OR coalesce(l.t, r.t) <= {until}"""
    if left.key is None or right.key is None:
        return Edge(sql=sql)
    # What is joined by follows from the other side's row: one side's key is told apart without it.
    told = on["right"] in right.key
    of_left = [column for column in left.key if told or column != on["left"]]
    of_right = [column for column in right.key if column != on["right"]]
    return Edge(sql=sql, key=tuple(dict.fromkeys([*of_left, *of_right])))


def _versioned(join: dict[str, Any], left: Edge, right: Edge, until: int) -> Edge:
    """Pair rows that the watermark has passed with the last row of their key up to their time."""
    near = f"AND r.t >= l.t - {HOUR}" if "within" in join else ""
    last = ", ".join(["r.t DESC", *(f"r.{name} DESC NULLS FIRST" for name in ("rid", "rk", "rg", "rv"))])
    sql = f"""
        SELECT l.id, l.{join["on"]["left"]} AS k, l.g, l.v, r.rid, r.rg, r.rv, l.t
        FROM (SELECT *, row_number() OVER () AS place FROM ({left.sql}) WHERE t <= {until}) AS l
        {join["type"]} JOIN ({right.sql}) AS r ON l.{join["on"]["left"]} = r.{join["on"]["right"]} AND r.t <= l.t {near}
        QUALIFY row_number() OVER (PARTITION BY l.place ORDER BY {last}) = 1"""
    return Edge(sql=sql)


def _joined_by_same_names(join: dict[str, Any], left: Edge, right: Edge, until: int) -> Edge:
    """Pair rows whose key columns are equal, and k and g in this order."""
    if join.get("asOf"):
        near = f"AND r.t >= l.t - {HOUR}" if "within" in join else ""
        last = "r.t DESC, r.rid DESC NULLS FIRST, r.rv DESC NULLS FIRST"
        sql = f"""
            SELECT l.id, l.k, l.g, l.v, r.rid, r.rv, l.t
            FROM (SELECT *, row_number() OVER () AS place FROM ({left.sql}) WHERE t <= {until}) AS l
            {join["type"]} JOIN ({right.sql}) AS r ON l.k = r.k AND l.g = r.g AND r.t <= l.t {near}
            QUALIFY row_number() OVER (PARTITION BY l.place ORDER BY {last}) = 1"""
        return Edge(sql=sql)
    near = f"abs(l.t - r.t) <= {HOUR}" if "within" in join else "true"
    sql = f"""
        SELECT l.id, coalesce(l.k, r.k) AS k, coalesce(l.g, r.g) AS g, l.v, r.rid, r.rv, greatest(l.t, r.t) AS t
        FROM ({left.sql}) AS l {join.get("type", "inner")} JOIN ({right.sql}) AS r
        ON l.k = r.k AND l.g = r.g AND {near}
        WHERE (l.t IS NOT NULL AND r.t IS NOT NULL) OR coalesce(l.t, r.t) <= {until}"""
    if left.key is None or right.key is None:
        return Edge(sql=sql)
    # What is joined by follows from the other side's row: one side's key is told apart without it.
    told = {"k", "g"}.intersection(right.key)
    of_left = left.key if told else [column for column in left.key if column not in ("k", "g")]
    return Edge(sql=sql, key=tuple(dict.fromkeys([*of_left, *(name for name in right.key if name not in told)])))


def _enriched(join: dict[str, Any], edge: Edge, spec: dict[str, Any]) -> Edge:
    """Look rows up in side inputs; what operators put into a table is read by nobody (random_apps)."""
    table = spec["tables"][join["table"]]
    if "sideInputs" not in table:
        return replace(edge, sql=f"SELECT *, NULL AS size FROM ({edge.sql})")
    on, keys = ([key] if isinstance(key, str) else key for key in (join["on"], table["key"]))
    parts = ", ".join(f"{key} AS key{place}" for place, key in enumerate(keys))
    sides = [f'SELECT {parts}, {table["value"]} FROM "{name}"' for name in table["sideInputs"]]
    stored = " UNION ALL ".join(sides)
    equal = " AND ".join(f"l.{column} = r.key{place}" for place, column in enumerate(on))
    sql = f"SELECT l.*, r.size FROM ({edge.sql}) AS l {join['type']} JOIN ({stored}) AS r ON {equal}"
    return replace(edge, sql=sql)


def _versions(
    connection: duckdb.DuckDBPyConnection, join: dict[str, Any], spec: dict[str, Any], edges: Mapping[str, Edge]
) -> Versions | None:
    """Return what operators put into a table; None if they don't."""
    table = spec["tables"][join["table"]]
    fillers = [edges[o["from"]] for o in spec["operators"] if o.get("sendToTable") == join["table"]]
    if "sideInputs" in table:
        return None
    if not all(edge.meaning and edge.key is None for edge in fillers):
        return Versions(on=join["on"], rows=None)
    rows = [
        row
        for edge in fillers
        for row in connection.execute(f"SELECT {table['key']}, {table['value']} FROM ({edge.sql})").fetchall()
    ]
    return Versions(on=join["on"], rows=tuple(rows))


def _windowed(window: dict[str, Any], edge: Edge, until: int) -> Edge:
    by = ", ".join(window["by"])
    if "tumbling" in window:
        length = _duration(window["tumbling"])
        bounds = f"SELECT *, t // {length} * {length} AS s, t // {length} * {length} + {length} AS e FROM ({edge.sql})"
    elif "sliding" in window:
        bounds = f"""SELECT x.*, (t // {HOUR} - back) * {HOUR} AS s, (t // {HOUR} - back) * {HOUR} + {2 * HOUR} AS e
                     FROM ({edge.sql}) AS x, (VALUES (0), (1)) AS b(back)"""
    else:
        bounds = f"""
            SELECT *, min(t) OVER (PARTITION BY {by}, n) AS s, max(t) OVER (PARTITION BY {by}, n) + {HOUR} AS e
            FROM (SELECT *, sum(far) OVER (PARTITION BY {by} ORDER BY t) AS n
                  FROM (SELECT *, CASE WHEN t - lag(t) OVER (PARTITION BY {by} ORDER BY t) > {HOUR} THEN 1 ELSE 0 END
                               AS far FROM ({edge.sql})))"""
    if "topN" in window:
        return Edge(
            sql=_first_rows(
                window["topN"], f"{by}, s, e", f"SELECT * REPLACE (e - 1 AS t) FROM ({bounds}) WHERE e <= {until}"
            )
        )
    return Edge(
        sql=f"SELECT {by}, {window['select']}, e - 1 AS t FROM ({bounds}) WHERE e <= {until} GROUP BY {by}, s, e"
    )


def _with_last_rows(over: dict[str, Any], edge: Edge, until: int) -> Edge:
    """Add aggregates of the last rows: of events once the watermark has passed them, of results by an order."""
    least = _COLUMNS if edge.key is None else tuple(f"{column} nulls first" for column in edge.key)
    terms = [_spark_nulls(term) for term in over["orderBy"].split(", ")] if "orderBy" in over else ["t"]
    frame, order = f"ROWS {over.get('rows', 1) - 1} PRECEDING", ", ".join([*terms, *least])
    if "rows" not in over:
        frame, order = f"RANGE BETWEEN {_duration(over['range'])} PRECEDING AND CURRENT ROW", "t"
    window = f"PARTITION BY {', '.join(over['by'])} ORDER BY {order} {frame}"
    rows = edge.sql if "orderBy" in over else f"SELECT * FROM ({edge.sql}) WHERE t <= {until}"
    call, _, name = over["select"].partition(" as ")
    return replace(edge, sql=f"SELECT *, {call} OVER ({window}) AS {name} FROM ({rows})")


def _ranked(top: dict[str, Any], edge: Edge) -> Edge:
    by, columns = top["by"], _COLUMNS if edge.key is None else tuple(f"{column} nulls first" for column in edge.key)
    key = (*by, "place") if "rank" in top else tuple(by) if top["n"] == 1 else edge.key
    return Edge(sql=_first_rows(top, ", ".join(by), edge.sql, columns), key=key)


def _first_rows(top: dict[str, Any], groups: str, rows: str, columns: tuple[str, ...] = _COLUMNS) -> str:
    """Rank rows; of rows that are equal in the order, those with the least of some columns are first, but with ties."""
    terms = [_spark_nulls(term) for term in top["orderBy"].split(", ")]
    ranked = "rank()" if top.get("ties") else "row_number()"
    order = ", ".join(terms if top.get("ties") else [*terms, *columns])
    place = f"{ranked} OVER (PARTITION BY {groups} ORDER BY {order})"
    return f"SELECT id, k, g, v, t, {place} AS place FROM ({rows}) QUALIFY {place} <= {top['n']}"


def _spark_nulls(term: str) -> str:
    """Write where Spark puts nulls."""
    return term if "nulls" in term else f"{term} nulls {'last' if term.endswith(' desc') else 'first'}"


def _duration(text: str) -> int:
    number = text.rstrip("hms")
    return int(number) * UNITS[text.removeprefix(number)]
