"""The graph as values: operators with their inputs, and the users of every name."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.problems import PathPart, path_text
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.operators import OperatorKind, OperatorSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A declared operator: `index` is its place in the list, `inputs` what it reads, the right side of a join last."""

    index: int
    name: str
    kind: OperatorKind
    spec: OperatorSpec
    inputs: tuple[str, ...]

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
        return path_text(("spec", "operators", self.index, *parts))

    def input_path(self, position: int) -> str:
        """Write the path of the name it reads at a position of `inputs`."""
        if position >= len(self.spec.inputs):
            return self.path("join", "with")
        return self.path("from", position) if isinstance(self.spec.from_, tuple) else self.path("from")

    def input_pointer(self, position: int) -> str:
        """Write the same place as a JSON pointer (RFC 6901), for repairs."""
        return "/" + self.input_path(position).replace("[", "/").replace("]", "").replace(".", "/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The operators of an app, inputs before their readers, and the users of every name.

    Names in `opaque` have an unknown meaning: their declaration is broken, or there are two. Anything may read them,
    and nothing is concluded from them. `incomplete`: a broken declaration may have used any name.
    `readers`, `senders`, `fillers` and `joiners` are the operators that read a stream or an operator, send to a stream,
    fill a table, join a table; `side_inputs` are the tables that a stream fills. A name without users is absent.
    """

    spec: StreamAppSpec
    operators: Mapping[str, Operator]
    opaque: frozenset[str]
    incomplete: bool
    cycles: tuple[tuple[str, ...], ...]
    readers: Mapping[str, tuple[Operator, ...]]
    senders: Mapping[str, tuple[Operator, ...]]
    fillers: Mapping[str, tuple[Operator, ...]]
    joiners: Mapping[str, tuple[Operator, ...]]
    side_inputs: Mapping[str, tuple[str, ...]]
