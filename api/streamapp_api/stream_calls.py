"""Streams and the rows of operators: each operator is a call, whose parameters are its fields in YAML.

Every call passes its `locals()` on: so no parameter can be forgotten, and none has another name than its field.
"""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel

from streamapp_api.app_functions import InPlaceFunction
from streamapp_api.declarations import Declarations
from streamapp_api.spec_parts import EarlyEmit, JoinBounds, JoinColumns, ProcessState, WindowTopN
from streamapp_api.written_fields import Named
from streamapp_core.spec.groups import Aggregate, Dedup, Over, TopN, Window
from streamapp_core.spec.operators import Join, JoinTable, OperatorKind, PartitionBy, Process

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
        return self._value(OperatorKind.FILTER, name, condition)

    def map(self, select: str, *, name: str | None = None) -> "Stream":
        """Add an operator that computes columns: a select list."""
        return self._value(OperatorKind.MAP, name, select)

    def flat_map(self, select: str, *, name: str | None = None) -> "Stream":
        """Add an operator that makes any number of rows of each row: a select list with `explode`."""
        return self._value(OperatorKind.FLAT_MAP, name, select)

    def partition_by(self, key: Key, *, stream: str | None = None, name: str | None = None) -> "Stream":
        """Add an operator that regroups rows by a key, through an intermediate stream."""
        return self._object(OperatorKind.PARTITION_BY, PartitionBy, locals())

    def broadcast(self, *, name: str | None = None) -> "Stream":
        """Add an operator that sends every row to every task."""
        return self._value(OperatorKind.BROADCAST, name, {})

    def join(
        self,
        with_: "Stream | str",
        on: Key | JoinColumns,
        *,
        type: Literal["inner", "left", "right", "full"] = "inner",
        within: str | JoinBounds | None = None,
        as_of: bool = False,
        condition: str | None = None,
        ttl: str | None = None,
        name: str | None = None,
    ) -> "Stream":
        """Add an operator that pairs rows of this stream, the left one, with those of another."""
        return self._object(OperatorKind.JOIN, Join, locals())

    def join_table(
        self, table: Table | str, on: Key, *, type: Literal["inner", "left"] = "inner", name: str | None = None
    ) -> "Stream":
        """Add an operator that looks up a row of a table for each row."""
        return self._object(OperatorKind.JOIN_TABLE, JoinTable, locals())

    def aggregate(self, *, by: Sequence[str], select: str, ttl: str | None = None, name: str | None = None) -> "Stream":
        """Add an operator that keeps running results of each group."""
        return self._object(OperatorKind.AGGREGATE, Aggregate, locals())

    def top_n(
        self,
        *,
        by: Sequence[str],
        order_by: str,
        n: int,
        rank: str | None = None,
        ttl: str | None = None,
        name: str | None = None,
    ) -> "Stream":
        """Add an operator that keeps the first rows of each group."""
        return self._object(OperatorKind.TOP_N, TopN, locals())

    def dedup(
        self,
        *,
        by: Sequence[str],
        keep: Literal["first", "last"] = "first",
        within: str | None = None,
        ttl: str | None = None,
        name: str | None = None,
    ) -> "Stream":
        """Add an operator that keeps one row of each key."""
        return self._object(OperatorKind.DEDUP, Dedup, locals())

    def over(
        self,
        *,
        by: Sequence[str],
        select: str,
        order_by: str | None = None,
        rows: int | None = None,
        range: str | None = None,
        name: str | None = None,
    ) -> "Stream":
        """Add an operator that computes aggregates over the last rows of a key, beside the columns of each row."""
        return self._object(OperatorKind.OVER, Over, locals())

    def window(
        self,
        *,
        tumbling: str | None = None,
        sliding: str | None = None,
        every: str | None = None,
        session: str | None = None,
        time: Literal["event", "processing"] = "event",
        by: Sequence[str] = (),
        select: str | None = None,
        top_n: WindowTopN | None = None,
        emit: EarlyEmit | None = None,
        name: str | None = None,
    ) -> "Stream":
        """Add an operator that computes results of each group and window of time."""
        return self._object(OperatorKind.WINDOW, Window, locals())

    def sorted(self, *, name: str | None = None) -> "Stream":
        """Add an operator that emits rows in the order of their event times."""
        return self._value(OperatorKind.SORTED, name, {})

    def process(
        self,
        function: InPlaceFunction,
        *,
        schema: str,
        state: ProcessState | None = None,
        order: Literal["eventTime", "arrival"] | None = None,
        name: str | None = None,
    ) -> "Stream":
        """Add an operator that is a Python function over batches of rows; `schema` are the columns it returns."""
        return self._object(OperatorKind.PROCESS, Process, locals())

    def send_to(self, stream: "Stream | str", *, name: str | None = None) -> None:
        """Add an operator that writes the rows to a declared stream."""
        self._value(OperatorKind.SEND_TO, name or f"to-{_name(stream)}", stream)

    def send_to_table(self, table: Table | str, *, name: str | None = None) -> None:
        """Add an operator that fills a table with the rows."""
        self._value(OperatorKind.SEND_TO_TABLE, name or f"to-{_name(table)}", table)

    def _object(self, kind: OperatorKind, model: type[BaseModel], call: dict[str, Any]) -> "Stream":
        arguments = {parameter: value for parameter, value in call.items() if parameter not in ("self", "name")}
        return self._add(kind, call["name"], self.owner.fields(model, arguments))

    def _value(self, kind: OperatorKind, name: str | None, value: object) -> "Stream":
        return self._add(kind, name, self.owner.operator_value(kind, value))

    def _add(self, kind: OperatorKind, name: str | None, value: object) -> "Stream":
        made = name or derive_name(self.name, kind)
        self.owner.add_operator(kind, made, value, [self.name])
        return Stream(self.owner, made)


def derive_name(source: str, kind: OperatorKind) -> str:
    """Return the name of an operator that was given none: what it reads, and what it does."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in f"{source}-{kind}")


def _name(named: Named | str) -> str:
    return named.name if isinstance(named, Named) else named
