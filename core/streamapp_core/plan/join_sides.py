"""The sides of a join, and their repairs: rows regrouped by another key before the join, or sent to every task."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.table_rows import TableRows
from streamapp_core.problems import Edit, Repair

_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a join: the input `name`, read by `reader` at `position`, whose key are `columns`.

    A table's side inputs are read by no operator. `columns` is None where the key has a part that is no plain column,
    as one that a table's extractor makes.
    """

    name: str
    columns: tuple[str, ...] | None
    reader: Operator | None = None
    position: int = 0
    fills: str | None = None
    extracted: bool = False

    @property
    def repairable(self) -> bool:
        """Whether an edit exists that regroups its rows, or sends them to every task."""
        return self.reader is None or (self.columns is not None and not self.reader.in_sql)


def sides_of(graph: Graph, join: Operator, tables: Mapping[str, TableRows]) -> Sequence[Side]:
    """List the sides of a `join` or `joinTable`; all that fills the table is on the side of the table."""
    spec = join.spec.join
    if spec is not None:
        return [
            Side(name=name, columns=spec.columns[position], reader=join, position=position)
            for position, name in enumerate(join.inputs)
        ]
    return list(_sides_of_table(graph, join, tables))


def _sides_of_table(graph: Graph, join: Operator, tables: Mapping[str, TableRows]) -> Iterator[Side]:
    if join.spec.join_table is None:
        raise TypeError(f"{join.name} is a {join.kind}, no joinTable")
    name = join.spec.join_table.table
    yield Side(name=join.inputs[0], columns=join.spec.join_table.columns, reader=join)
    key = tables[name].key_columns if name in tables else None
    for filler in graph.fillers.get(name, ()):
        yield Side(name=filler.inputs[0], columns=key, reader=filler, fills=name)
    if name in graph.spec.tables:
        for stream in graph.spec.tables[name].side_inputs:
            yield Side(name=stream, columns=key, fills=name, extracted=name in tables and tables[name].extracted)


def repair_sides(graph: Graph, sides: Sequence[Side]) -> Repair | None:
    """Return the repair of some sides: a partitionBy by the side's columns before each; a side input becomes broadcast.

    None if that can't be done for all of them.
    """
    if not sides or not all(side.repairable for side in sides):
        return None
    texts: list[str] = []
    edits: list[Edit] = []
    taken = {*graph.spec.streams, *graph.spec.tables, *(operator.name for operator in graph.spec.operators)}
    for side in sides:
        if side.reader is None:
            texts.append(f"make side input `{side.name}` a broadcast stream, of which every task has all")
            edits.append(Edit(op="add", pointer=f"/spec/streams/{side.name}/broadcast", value=True))
        elif side.columns is not None:
            name = _free_name("-".join([side.name, "by", *side.columns]), taken)
            taken.add(name)
            listed = ", ".join(f"`{column}`" for column in side.columns)
            texts.append(f"put a partitionBy by {listed} between `{side.name}` and `{side.reader.name}`")
            step = {"name": name, "from": side.name, "partitionBy": {"key": written_key(side.columns)}}
            edits.append(Edit(op="add", pointer="/spec/operators/-", value=step))
            edits.append(Edit(op="replace", pointer=side.reader.input_pointer(side.position), value=name))
    return Repair(text=" and ".join(texts), edits=tuple(edits))


def written_key(columns: Sequence[str]) -> str | list[str]:
    """Return a key as a spec has it: a column, or a list of several."""
    return columns[0] if len(columns) == 1 else list(columns)


def _free_name(base: str, taken: set[str]) -> str:
    """Return a DNS label, made of a text, that nothing is named yet."""
    base = re.sub(r"[^a-z0-9]+", "-", base.lower())[: _LONGEST_NAME - 5].strip("-")
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    return name
