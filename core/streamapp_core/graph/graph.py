"""The graph as values: operators with their inputs, and the users of every name."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from streamapp_core.problems import PathPart, path_text
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.operators import OperatorKind, OperatorSpec

STEP_SEPARATOR = "."
"""What stands between the name of an operator in SQL and that of a step; no name in a spec has it."""


def written_name(name: str) -> str:
    """Return the name that stands in the spec: of a step, that of the operator in SQL."""
    return name.partition(STEP_SEPARATOR)[0]


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """A declared operator: `index` is its place in the list, `inputs` what it reads, the right side of a join last.

    If `in_sql`, it is a step of the operator with this index, which is written in SQL.
    """

    index: int
    name: str
    kind: OperatorKind
    spec: OperatorSpec
    inputs: tuple[str, ...]
    in_sql: bool = False

    @property
    def table(self) -> str | None:
        """The table it joins or fills."""
        if self.spec.join_table is not None:
            return self.spec.join_table.table
        return self.spec.send_to_table

    @property
    def shared_stream(self) -> str | None:
        """The name in its system of the intermediate stream that it makes for other apps to read, too."""
        return None if self.spec.partition_by is None else self.spec.partition_by.stream

    def path(self, *parts: PathPart) -> str:
        """Write the path of one of its fields: `spec.operators[3].joinTable.on`."""
        return path_text(self.path_parts(*parts))

    def path_parts(self, *parts: PathPart) -> tuple[PathPart, ...]:
        """Return the same path, not written yet."""
        return ("spec", "operators", self.index, *(("sql",) if self.in_sql else parts))

    def input_path(self, position: int) -> str:
        """Write the path of the name it reads at a position of `inputs`."""
        if self.in_sql:
            return self.path()
        if position >= len(self.spec.inputs):
            return self.path("join", "with")
        return self.path("from", position) if isinstance(self.spec.from_, tuple) else self.path("from")

    def input_pointer(self, position: int) -> str:
        """Write the same place as a JSON pointer (RFC 6901), for repairs."""
        return "/" + self.input_path(position).replace("[", "/").replace("]", "").replace(".", "/")


_MEETING = (
    OperatorKind.JOIN,
    OperatorKind.JOIN_TABLE,
    OperatorKind.WINDOW,
    OperatorKind.AGGREGATE,
    OperatorKind.TOP_N,
    OperatorKind.DEDUP,
    OperatorKind.OVER,
    OperatorKind.PROCESS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The operators of an app, inputs before their readers, and the users of every name.

    Names in `opaque` have an unknown meaning: their declaration is broken, or there are two. Anything may read them,
    and nothing is concluded from them. `incomplete`: a broken declaration may have used any name.
    `readers`, `senders`, `fillers` and `joiners` are the operators that read a stream or an operator, send to a stream,
    fill a table, join a table; `side_inputs` are the tables that a stream fills. A name without users is absent.
    `kinds` has the operators of each kind, in the order of the data.
    """

    spec: StreamAppSpec
    operators: Mapping[str, Operator]
    kinds: Mapping[OperatorKind, tuple[Operator, ...]]
    opaque: frozenset[str]
    incomplete: bool
    cycles: tuple[tuple[str, ...], ...]
    readers: Mapping[str, tuple[Operator, ...]]
    senders: Mapping[str, tuple[Operator, ...]]
    fillers: Mapping[str, tuple[Operator, ...]]
    joiners: Mapping[str, tuple[Operator, ...]]
    side_inputs: Mapping[str, tuple[str, ...]]

    @property
    def regrouped(self) -> Iterator[Operator]:
        """The operators whose rows go through an intermediate stream."""
        return self.of_kinds(OperatorKind.PARTITION_BY, OperatorKind.BROADCAST)

    @property
    def meeting(self) -> Iterator[Operator]:
        """The joins and groups, in which rows meet, and the functions, which may keep a state by a key."""
        return self.of_kinds(*_MEETING)

    def of_kinds(self, *kinds: OperatorKind) -> Iterator[Operator]:
        """Return the operators of some kinds, one kind after the other."""
        return (operator for kind in kinds for operator in self.kinds.get(kind, ()))

    def readers_of(self, names: Iterable[str]) -> Iterator[Operator]:
        """Return the operators that read any of these, each once."""
        readers = {operator.name for name in names for operator in self.readers.get(name, ())}
        return (self.operators[name] for name in readers if name in self.operators)
