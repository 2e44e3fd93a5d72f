"""The type that holds all that variants hold: kept is the type of those that came."""

from collections.abc import Sequence
from functools import reduce
from typing import Any, TypeAlias

from streamapp_runtime.kernels.variant_types import NO_TYPE, TooMuchError, TypeInference, VariantType, written
from streamapp_systems.variants.variant_decoding import decoded
from streamapp_systems.variants.variant_encoding import Variant

MAX_TYPES = 10_000
"""The most types in a type that is kept: each variant is compared with all of it."""

_State: TypeAlias = Sequence[Any]
"""The parts of a type; nothing if it is too much."""


class TypeOfVariants:
    """The type of variants, as `schema_of_variant` writes it."""

    def add(self, state: _State | None, values: Sequence[Sequence[bytes]]) -> _State:
        """Widen the type by those of variants."""
        return reduce(_widened, values, NO_TYPE if state is None else state)

    def merge(self, left: _State, right: _State) -> _State:
        """Return the type that holds both."""
        if not left or not right:
            return ()
        try:
            return _bounded(TypeInference().common(_typed(left), _typed(right)))
        except TooMuchError:
            return ()

    def result(self, state: _State | None) -> str | None:
        """Return the text of the type; None if it is too much."""
        if state is None:
            return written(NO_TYPE)
        return written(_typed(state)) if state else None


def _widened(state: _State, value: Sequence[bytes]) -> _State:
    if not state:
        return state
    inference = TypeInference()
    try:
        return _bounded(inference.common(_typed(state), inference.type_of(decoded(Variant(*value)))))
    except TooMuchError:
        return ()


def _bounded(found: VariantType) -> _State:
    return found if _size(found) <= MAX_TYPES else ()


def _size(found: VariantType) -> int:
    inside = (found.element,) if found.element else (inner for _, inner in found.fields)
    return 1 + sum(map(_size, inside))


def _typed(parts: Sequence[Any]) -> VariantType:
    """Return a type out of its parts, as a store gives them back."""
    if isinstance(parts, VariantType):
        return parts
    name, (whole, behind), element, fields = parts
    inside = tuple((field, _typed(inner)) for field, inner in fields)
    return VariantType(name, (whole, behind), None if element is None else _typed(element), inside)
