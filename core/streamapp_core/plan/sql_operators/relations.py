"""Rows inside of a query: what its parts emit, by which names their columns are known, and where they come from."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sqlglot.tokenizer_core import TokenType

from streamapp_core.expressions.parsing import tokenize
from streamapp_core.near_names import did_you_mean
from streamapp_core.plan.stream_types.stream_partitioning import Hashed
from streamapp_core.schema import DataType, Schema, TypeKind
from streamapp_core.spec.streams import EventTime
from streamapp_core.sql.query_tree import Span, SqlIssue
from streamapp_core.sql.sql_expressions import Reference

Path = tuple[str, ...]
"""A column of a stream, or a field of structs in it, in lower case."""
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationColumn:
    """A column of a relation: `name` is what the query calls it, `stored` what the operator does.

    `origin` is where its values stand in the stream with the event times, unchanged; None: they are computed. `cast`
    is the type of what the query means where the operator has an equal value of another one; `lost` is why the value
    is not there.
    """

    name: str
    stored: str
    type: DataType
    origin: Path | None = None
    cast: DataType | None = None
    lost: str | None = None

    @property
    def text(self) -> str:
        """The expression that reads it."""
        return backquoted(self.stored) if self.cast is None else f"cast({backquoted(self.stored)} as {self.cast})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The event time of rows: the columns of a stream of which the first that is not null counts."""

    columns: tuple[Path, ...]

    def time_of(self, origin: Path | None, nulls: Iterable[Path] = ()) -> bool:
        """Return whether a value that is not null is the event time, given what is null."""
        if origin not in self.columns:
            return False
        absent = set(nulls)
        earlier = self.columns[: self.columns.index(origin)]
        return all(any(path[:length] in absent for length in range(1, len(path) + 1)) for path in earlier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The rows that an operator emits.

    `timing` tells which columns are their event time (None: not known), `nulls` what is null in all of them.
    `partitioned` says by which stored columns they are partitioned (None: by none), `key` are those whose equal values
    replace each other (None: as far as the query knows, rows stay). Columns of the key may be hidden: no name means
    them then.
    """

    operator: str
    alias: str | None
    columns: tuple[RelationColumn, ...]
    timing: Timing | None = None
    nulls: frozenset[Path] = frozenset()
    partitioned: Hashed | None = None
    key: tuple[str, ...] | None = None

    def named(self, alias: str | None) -> "Relation":
        """Return the same rows under another name."""
        return replace(self, alias=alias)

    def get(self, name: str) -> RelationColumn | None:
        """Find a column, whatever its case."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The meaning of a reference: a column of a relation, and the fields in it."""

    relation: int
    column: RelationColumn
    fields: tuple[str, ...]

    @property
    def key(self) -> tuple[int, str, *tuple[str, ...]]:
        """A value that is equal for equal meanings."""
        return (self.relation, self.column.name.lower(), *(name.lower() for name in self.fields))

    @property
    def name(self) -> str:
        """The name of a column that holds it."""
        return self.fields[-1] if self.fields else self.column.name

    @property
    def text(self) -> str:
        """The expression that reads it."""
        return ".".join([self.column.text, *map(backquoted, self.fields)])

    @property
    def origin(self) -> Path | None:
        """Its place in the stream with the event times."""
        if self.column.origin is None:
            return None
        return (*self.column.origin, *(name.lower() for name in self.fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A column to be made: an expression over the columns of an operator, and what it is if it is one of them."""

    name: str
    text: str
    span: Span
    found: Found | None = None
    generates: bool = False

    @property
    def item(self) -> str:
        """The item of a select list; a generator has its names with it."""
        name = backquoted(self.name)
        return self.text if self.generates or self.text == name else f"{self.text} as {name}"


def first_names(outputs: Iterable[Output]) -> dict[str, str]:
    """Return the new names of columns that are emitted unchanged, by the old ones in lower case; of several the first.

    The first is the one that makes rows replace each other, as they did before (`plan.stream_types.infer_types`).
    """
    names: dict[str, str] = {}
    for output in outputs:
        found = output.found
        if found is not None and not found.fields and found.column.cast is None:
            names.setdefault(found.column.stored.lower(), output.name)
    return names


class Scope:
    """The relations whose columns an expression may name."""

    def __init__(self, relations: Sequence[Relation]) -> None:
        self.relations = tuple(relations)

    def find(self, reference: Reference) -> Found:
        """Find what a reference means: a qualified column first, then a column and fields in it.

        Raises:
            SqlIssue: nothing, or several things.
        """
        parts = reference.parts
        if len(parts) > 1:
            for index, relation in self._of(parts[0]):
                column = relation.get(parts[1])
                if column is not None:
                    return self._known(reference, index, column, parts[2:])
        found = [(index, column) for index, relation in enumerate(self.relations) if (column := relation.get(parts[0]))]
        if len(found) > 1:
            aliases = [self.relations[index].alias or "a subquery" for index, _ in found]
            raise SqlIssue(reference.span, f"`{parts[0]}` is a column of {' and '.join(aliases)}; write which one's")
        if not found:
            raise SqlIssue(reference.span, self._unknown(parts), unknown=True)
        return self._known(reference, *found[0], parts[1:])

    def _known(self, reference: Reference, index: int, column: RelationColumn, fields: Sequence[str]) -> Found:
        if column.lost is not None:
            raise SqlIssue(reference.span, column.lost)
        return Found(relation=index, column=column, fields=tuple(fields))

    def _of(self, alias: str) -> Iterator[tuple[int, Relation]]:
        for index, relation in enumerate(self.relations):
            if relation.alias is not None and relation.alias.lower() == alias.lower():
                yield index, relation

    def _unknown(self, parts: Sequence[str]) -> str:
        qualified = [relation for _, relation in self._of(parts[0])] if len(parts) > 1 else []
        name = parts[1] if qualified else parts[0]
        names = [column.name for relation in qualified or self.relations for column in relation.columns]
        guess = did_you_mean(name, names) or ";"
        listed = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        return f"unknown column `{name}`{guess} columns: {listed}"

    def starred(self, qualifier: str | None, span: Span) -> list[Found]:
        """Return what `*` or `alias.*` means, or the fields of a struct for `column.*`.

        Raises:
            SqlIssue: there is no such relation or struct.
        """
        if qualifier is None:
            return [
                Found(relation=index, column=column, fields=())
                for index, relation in enumerate(self.relations)
                for column in relation.columns
                if column.lost is None
            ]
        for index, relation in self._of(qualifier):
            return [
                Found(relation=index, column=column, fields=()) for column in relation.columns if column.lost is None
            ]
        found = self.find(Reference(parts=(qualifier,), spans=(span,), names_field=False))
        if found.column.type.kind is not TypeKind.STRUCT:
            raise SqlIssue(span, f"`{qualifier}` is {found.column.type}, so it has no fields for `*`")
        return [replace(found, fields=(field.name,)) for field in found.column.type.fields]


def relation_of(
    operator: str, schema: Schema, timing: EventTime | None = None, origins: dict[str, Path] | None = None
) -> Relation:
    """Return the rows of a stream or operator; by default its columns are those of the stream with the event times."""
    places = {column.name.lower(): (column.name.lower(),) for column in schema.columns} if origins is None else origins
    return Relation(
        operator=operator,
        alias=operator,
        columns=tuple(
            RelationColumn(
                name=column.name, stored=column.name, type=column.type, origin=places.get(column.name.lower())
            )
            for column in schema.columns
        ),
        timing=None if timing is None else Timing(columns=tuple(map(_path, timing.columns))),
    )


def _path(text: str) -> Path:
    return tuple(text.lower().split("."))


@lru_cache(maxsize=1_000)
def backquoted(name: str) -> str:
    """Write a name so that it is one in an expression: in backquotes, unless it is a plain word."""
    if name.isascii() and name.replace("_", "a").isalnum():
        (token,) = tokenize(name)
        if token.token_type is TokenType.VAR and token.text == name:
            return name
    return "`" + name.replace("`", "``") + "`"


def unique(name: str, taken: set[str]) -> str:
    """Return a name for a column that is not taken yet, whatever its case, and take it."""
    made, number = name, 1
    while made.lower() in taken:
        number += 1
        made = f"{name}_{number}"
    taken.add(made.lower())
    return made
