"""The types of variants, and the type that holds values of two of them, as `schema_of_variant` writes them."""

from collections.abc import Mapping
from functools import reduce
from typing import NamedTuple

from streamapp_core.data_types import MAX_PRECISION
from streamapp_runtime.kernels.inferred_types import quoted_name
from streamapp_systems.variants.variant_encoding import Node, VariantKind

MAX_INFERENCE_STEPS = 1_000_000
"""The most fields that are looked at to find one type: a second or two."""
_LONG_DIGITS = 20
_NAMES = {
    VariantKind.NULL: "VOID",
    VariantKind.BOOLEAN: "BOOLEAN",
    VariantKind.LONG: "BIGINT",
    VariantKind.STRING: "STRING",
    VariantKind.DOUBLE: "DOUBLE",
    VariantKind.FLOAT: "FLOAT",
    VariantKind.DATE: "DATE",
    VariantKind.TIMESTAMP: "TIMESTAMP",
    VariantKind.TIMESTAMP_NTZ: "TIMESTAMP_NTZ",
    VariantKind.BINARY: "BINARY",
}
_WIDER = ("BIGINT", "FLOAT", "DOUBLE")
_MOMENTS = ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP")


class TooMuchError(Exception):
    """A type takes too long to be found."""


class VariantType(NamedTuple):
    """A type: `digits` are the whole and the other ones of a decimal, `fields` those of an object, by name."""

    name: str
    digits: tuple[int, int] = (0, 0)
    element: "VariantType | None" = None
    fields: tuple[tuple[str, "VariantType"], ...] = ()


NO_TYPE = VariantType("VOID")
"""The type of JSON's null, which all others hold."""
_VARIANT, _DOUBLE = VariantType("VARIANT"), VariantType("DOUBLE")


class TypeInference:
    """The inference of one variant's type, with a bound on its work: arrays of objects that all differ cost much."""

    def __init__(self) -> None:
        self._left = MAX_INFERENCE_STEPS

    def type_of(self, node: Node) -> VariantType:
        """Return the type of a value.

        Raises:
            TooMuchError: That takes too long.
        """
        kind, held = node
        if kind is VariantKind.OBJECT:
            return VariantType("OBJECT", fields=tuple((name, self.type_of(inner)) for name, inner in held))
        if kind is VariantKind.ARRAY:
            return VariantType("ARRAY", element=reduce(self.common, map(self.type_of, held), NO_TYPE))
        if kind is VariantKind.DECIMAL:
            before, _, behind = f"{held:f}".lstrip("-").partition(".")
            behind = behind.rstrip("0")
            return VariantType("DECIMAL", (len(before.lstrip("0")) or int(not behind), len(behind)))
        return VariantType(_NAMES[kind])

    def common(self, one: VariantType, other: VariantType) -> VariantType:
        """Return the type that holds values of two types.

        Raises:
            TooMuchError: That takes too long.
        """
        tight = self._tight(one, other)
        if tight is not None:
            return tight
        names = {one.name, other.name}
        if names == {"ARRAY"}:
            return VariantType("ARRAY", element=self.common(one.element or NO_TYPE, other.element or NO_TYPE))
        if names == {"OBJECT"}:
            return VariantType("OBJECT", fields=self._merged(dict(one.fields), dict(other.fields)))
        if names <= {"BIGINT", "DECIMAL"}:
            return _decimal(*(kind.digits if kind.name == "DECIMAL" else (_LONG_DIGITS, 0) for kind in (one, other)))
        return _DOUBLE if "DECIMAL" in names and names <= {"DECIMAL", "DOUBLE", "FLOAT"} else _VARIANT

    def _tight(self, one: VariantType, other: VariantType) -> VariantType | None:
        """Return the type that one of both is, or else nothing.

        Objects of the same fields, whatever their case, have the first names.
        """
        self._left -= 1 + len(one.fields) + len(other.fields)
        if self._left < 0:
            raise TooMuchError
        if other in (one, NO_TYPE):
            return one
        if one == NO_TYPE:
            return other
        names = {one.name, other.name}
        if names == {"ARRAY"}:
            element = self._tight(one.element or NO_TYPE, other.element or NO_TYPE)
            return element and VariantType("ARRAY", element=element)
        if names == {"OBJECT"}:
            return self._tight_object(one, other)
        if names == {"BIGINT", "DECIMAL"}:
            wide = one if one.name == "DECIMAL" else other
            return wide if wide.digits[0] >= _LONG_DIGITS else None
        order = next((order for order in (_WIDER, _MOMENTS) if names <= {*order}), None)
        return VariantType(max(names, key=order.index)) if order else None

    def _tight_object(self, one: VariantType, other: VariantType) -> VariantType | None:
        if list(map(_caseless, one.fields)) != list(map(_caseless, other.fields)):
            return None
        pairs = zip(one.fields, other.fields, strict=True)
        fields = [(name, self._tight(inner, other_inner)) for (name, inner), (_, other_inner) in pairs]
        known = tuple((name, inner) for name, inner in fields if inner)
        return VariantType("OBJECT", fields=known) if len(known) == len(fields) else None

    def _merged(
        self, ones: Mapping[str, VariantType], others: Mapping[str, VariantType]
    ) -> tuple[tuple[str, VariantType], ...]:
        names = sorted({**ones, **others}, key=lambda name: name.encode("utf-16-be"))
        return tuple((name, self.common(ones.get(name, NO_TYPE), others.get(name, NO_TYPE))) for name in names)


def _caseless(field: tuple[str, VariantType]) -> str:
    return "".join(_lower(_upper(letter)) for letter in field[0])


def _upper(letter: str) -> str:
    return letter.upper() if len(letter.upper()) == 1 else letter


def _lower(letter: str) -> str:
    return letter.lower() if len(letter.lower()) == 1 else letter


def _decimal(one: tuple[int, int], other: tuple[int, int]) -> VariantType:
    whole, behind = max(one[0], other[0]), max(one[1], other[1])
    return _DOUBLE if whole + behind > MAX_PRECISION else VariantType("DECIMAL", (whole, behind))


def schema_of(node: Node) -> str | None:
    """Return the type of a value, as `schema_of_variant` writes it; None if that takes too long."""
    try:
        return written(TypeInference().type_of(node))
    except TooMuchError:
        return None


def written(found: VariantType) -> str:
    """Write a type."""
    if found.element:
        return f"ARRAY<{written(found.element)}>"
    if found.name == "OBJECT":
        return f"OBJECT<{', '.join(f'{quoted_name(name)}: {written(inner)}' for name, inner in found.fields)}>"
    return f"DECIMAL({sum(found.digits)},{found.digits[1]})" if found.name == "DECIMAL" else found.name
