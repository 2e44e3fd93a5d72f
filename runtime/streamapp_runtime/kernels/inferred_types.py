"""Types that are inferred from texts, as Spark merges and writes them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

_PLAIN_NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class InferredType:
    """A type: `precision` is that of a decimal, `element` of an array, `fields` of a struct."""

    name: str
    precision: int = 0
    element: "InferredType | None" = None
    fields: "Fields" = ()


Field: TypeAlias = tuple[str, InferredType]
Fields: TypeAlias = Sequence[Field]


NULL, STRING, DOUBLE = InferredType("NULL"), InferredType("STRING"), InferredType("DOUBLE")


def usual(found: InferredType) -> InferredType | None:
    """Return a type with strings for nulls, without fields that have no name or nothing inside; None of nothing."""
    if found == NULL:
        return STRING
    if found.element:
        element = usual(found.element)
        return element and replace(found, element=element)
    if found.name == "STRUCT":
        fields = [(name, inner) for name, held in found.fields if name and (inner := usual(held))]
        return replace(found, fields=fields) if fields else None
    return found


def written(found: InferredType) -> str:
    """Return the text of a type."""
    if found.element:
        return f"ARRAY<{written(found.element)}>"
    if found.name == "STRUCT":
        return f"STRUCT<{', '.join(f'{quoted_name(name)}: {written(inner)}' for name, inner in found.fields)}>"
    return f"DECIMAL({found.precision},0)" if found.precision else found.name


def quoted_name(name: str) -> str:
    """Return the name of a field as types write it: in back quotes if it is no plain word."""
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"
