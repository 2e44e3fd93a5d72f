"""Values out of variants, all of them or those that one holds."""

from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from streamapp_systems.variants.variant_encoding import DECIMALS, FIXED, WHOLES, Node, Variant, VariantKind


def decoded(variant: Variant) -> Node:
    """Decode a value that was encoded here."""
    return _Reader(variant.value, _names(variant.metadata)).node(0)


def members(variant: Variant) -> list[tuple[str | None, Variant]] | None:
    """Return the elements of an array, or the fields of an object with their names; None of other values."""
    if variant.value[0] & 3 < 2:  # noqa: PLR2004 - neither
        return None
    found, places, end = _Reader(variant.value, _names(variant.metadata)).members(0)
    ends = dict(pairwise([*sorted(places), end]))
    values = (Variant(variant.value[place : ends[place]], variant.metadata) for place in places)
    names: list[str | None] = [None] * len(places) if found is None else [*found]
    return list(zip(names, values, strict=True))


def _names(metadata: bytes) -> list[str]:
    size = (metadata[0] >> 6) + 1
    start = 1 + size
    count = int.from_bytes(metadata[1:start], "little")
    offsets = [
        int.from_bytes(metadata[start + at * size : start + (at + 1) * size], "little") for at in range(count + 1)
    ]
    texts = metadata[start + (count + 1) * size :]
    return [texts[one:other].decode() for one, other in pairwise(offsets)]


@dataclass(frozen=True, slots=True)
class _Reader:
    value: bytes
    names: list[str] = field(repr=False)

    def node(self, at: int) -> Node:
        """Read the value at a place."""
        header, basic = self.value[at] >> 2, self.value[at] & 3
        if basic == 1:
            return Node(VariantKind.STRING, self.value[at + 1 : at + 1 + header].decode())
        if basic == 0:
            return self._primitive(header, at + 1)
        names, places, _ = self.members(at)
        nodes = list(map(self.node, places))
        if names is None:
            return Node(VariantKind.ARRAY, nodes)
        return Node(VariantKind.OBJECT, list(zip(names, nodes, strict=True)))

    def members(self, at: int) -> tuple[list[str] | None, list[int], int]:
        """Return the names of an object's fields (None of an array), the places of the values, and their end."""
        header, named = self.value[at] >> 2, self.value[at] & 3 == 2  # noqa: PLR2004 - an object
        size = 4 if header >> (4 if named else 2) & 1 else 1
        width, number_width = (header & 3) + 1, (header >> 2 & 3) + 1 if named else 0
        count = self._number(at + 1, size)
        numbers = at + 1 + size
        offsets = numbers + count * number_width
        start = offsets + (count + 1) * width
        *places, end = (start + self._number(offsets + place * width, width) for place in range(count + 1))
        if not named:
            return None, places, end
        names = [self.names[self._number(numbers + place * number_width, number_width)] for place in range(count)]
        return names, places, end

    def _number(self, at: int, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.value[at : at + size], "little", signed=signed)

    def _primitive(self, number: int, at: int) -> Node:
        if VariantKind.BOOLEAN <= number < VariantKind.LONG:
            return Node(VariantKind.BOOLEAN, number == VariantKind.BOOLEAN)
        if VariantKind.LONG <= number < VariantKind.DOUBLE:
            return Node(VariantKind.LONG, self._number(at, WHOLES[number - VariantKind.LONG], signed=True))
        if VariantKind.DECIMAL <= number < VariantKind.DATE:
            size = DECIMALS[number - VariantKind.DECIMAL][1]
            unscaled = self._number(at + 1, size, signed=True)
            digits = tuple(map(int, str(abs(unscaled))))
            return Node(VariantKind.DECIMAL, Decimal((int(unscaled < 0), digits, -self.value[at])))
        kind = VariantKind(number)
        if kind in FIXED:
            return Node(kind, FIXED[kind].unpack_from(self.value, at)[0])
        if kind is VariantKind.NULL:
            return Node(kind)
        content = self.value[at + 4 : at + 4 + self._number(at, 4)]
        return Node(kind, content.decode() if kind is VariantKind.STRING else content)
