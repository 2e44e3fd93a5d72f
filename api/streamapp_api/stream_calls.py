"""Streams and the rows of operators: each operator is a call, whose parameters are its fields in YAML."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from streamapp_api import call_types
from streamapp_api.app_functions import InPlaceFunction
from streamapp_api.declarations import Declarations
from streamapp_api.shown_parameters import show_parameters
from streamapp_api.written_fields import Named
from streamapp_core.spec.base import parameter_name
from streamapp_core.spec.operators import OperatorKind

Key = str | Sequence[str]
"""A column, or a list of columns."""


class Table(Named):
    """A declared table, to look rows up in."""


class Stream(Named):
    """Rows to read: of a declared stream, or those that an operator emits.

    Operators are named by what they read and what they do, if no `name` is given. State belongs to names: operators
    with state keep theirs in later versions of the app if their names stay.
    """

    owner: Declarations

    def filter(self, condition: str, *, name: str | None = None) -> "Stream":
        """Add an operator that keeps the rows for which a condition is true."""
        return self._add(OperatorKind.FILTER, name, condition)

    def map(self, select: str, *, name: str | None = None) -> "Stream":
        """Add an operator that computes columns: a select list."""
        return self._add(OperatorKind.MAP, name, select)

    def flat_map(self, select: str, *, name: str | None = None) -> "Stream":
        """Add an operator that makes any number of rows of each row: a select list with `explode`."""
        return self._add(OperatorKind.FLAT_MAP, name, select)

    @show_parameters
    def partition_by(self, key: Key, *, name: str | None = None, **fields: Unpack[call_types.PartitionBy]) -> "Stream":
        """Add an operator that regroups rows by a key, through an intermediate stream."""
        return self._add(OperatorKind.PARTITION_BY, name, {"key": key, **fields})

    def broadcast(self, *, name: str | None = None) -> "Stream":
        """Add an operator that sends every row to every task."""
        return self._add(OperatorKind.BROADCAST, name, {})

    @show_parameters
    def join(self, with_: "Stream | str", *, name: str | None = None, **fields: Unpack[call_types.Join]) -> "Stream":
        """Add an operator that pairs rows of this stream, the left one, with those of another."""
        return self._add(OperatorKind.JOIN, name, {"with_": with_, **fields})

    @show_parameters
    def join_table(
        self, table: Table | str, *, name: str | None = None, **fields: Unpack[call_types.JoinTable]
    ) -> "Stream":
        """Add an operator that looks up a row of a table for each row."""
        return self._add(OperatorKind.JOIN_TABLE, name, {"table": table, **fields})

    @show_parameters
    def aggregate(self, *, name: str | None = None, **fields: Unpack[call_types.Aggregate]) -> "Stream":
        """Add an operator that keeps running results of each group."""
        return self._add(OperatorKind.AGGREGATE, name, fields)

    @show_parameters
    def top_n(self, *, name: str | None = None, **fields: Unpack[call_types.TopN]) -> "Stream":
        """Add an operator that keeps the first rows of each group."""
        return self._add(OperatorKind.TOP_N, name, fields)

    @show_parameters
    def dedup(self, *, name: str | None = None, **fields: Unpack[call_types.Dedup]) -> "Stream":
        """Add an operator that keeps one row of each key."""
        return self._add(OperatorKind.DEDUP, name, fields)

    @show_parameters
    def over(self, *, name: str | None = None, **fields: Unpack[call_types.Over]) -> "Stream":
        """Add an operator that computes aggregates over the last rows of a key, beside the columns of each row."""
        return self._add(OperatorKind.OVER, name, fields)

    @show_parameters
    def window(self, *, name: str | None = None, **fields: Unpack[call_types.Window]) -> "Stream":
        """Add an operator that computes results of each group and window of time."""
        return self._add(OperatorKind.WINDOW, name, fields)

    def sorted(self, *, name: str | None = None) -> "Stream":
        """Add an operator that emits rows in the order of their event times."""
        return self._add(OperatorKind.SORTED, name, {})

    @show_parameters
    def process(
        self, function: InPlaceFunction, *, name: str | None = None, **fields: Unpack[call_types.Process]
    ) -> "Stream":
        """Add an operator that is a Python function over batches of rows; `schema` are the columns it returns."""
        return self._add(OperatorKind.PROCESS, name, {"function": function, **fields})

    def send_to(self, stream: "Stream | str", *, name: str | None = None) -> None:
        """Add an operator that writes the rows to a declared stream."""
        self._add(OperatorKind.SEND_TO, name or f"to-{_name(stream)}", stream)

    def send_to_table(self, table: Table | str, *, name: str | None = None) -> None:
        """Add an operator that fills a table with the rows."""
        self._add(OperatorKind.SEND_TO_TABLE, name or f"to-{_name(table)}", table)

    def _add(self, kind: OperatorKind, name: str | None, value: "str | Named | Mapping[str, Any]") -> "Stream":
        made = name or derive_name(self.name, kind)
        self.owner.add_operator(kind, made, value, [self])
        return Stream(self.owner, made)


def derive_name(source: str, kind: OperatorKind) -> str:
    """Return the name of an operator that was given none: what it reads, and what it does."""
    return f"{source}-{parameter_name(kind).replace('_', '-')}"


def _name(named: Named | str) -> str:
    return named.name if isinstance(named, Named) else named
