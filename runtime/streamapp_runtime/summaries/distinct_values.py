"""The different ones of nested values."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from streamapp_runtime.summaries.equal_forms import equal_form

_State: TypeAlias = list[Any] | dict[Any, Any]


class DistinctValues:
    """The values, each once, by what is equal of equal ones."""

    def add(self, state: _State | None, values: Sequence[Any]) -> _State:
        """Add values, in place: a copy would cost as much as all of them."""
        known = state if isinstance(state, dict) else {equal_form(value): value for value in state or ()}
        for value in values:
            known.setdefault(equal_form(value), value)
        return known

    def merge(self, left: _State, right: _State) -> _State:
        """Add those of another one."""
        return self.add(left, self.result(right))

    def result(self, state: _State | None) -> list[Any]:
        """Return the values in the order in which they first came."""
        return [*state.values()] if isinstance(state, dict) else state or []
