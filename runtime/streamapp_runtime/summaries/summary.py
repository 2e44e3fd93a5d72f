"""The form of a summary: bounded state that takes values one after the other."""

from collections.abc import Sequence
from typing import Any, Protocol

State = Any
"""Plain values that a store holds: numbers, texts, bytes and lists of them."""


class Summary(Protocol):
    """A computation over the values of a group, which are plain and never null, by a state that is kept of them.

    Values are added in the order of their arrival. A state that was given away may be changed.
    """

    def add(self, state: State | None, values: Sequence[Any]) -> State:
        """Return the state with these values, where None is that of no values."""
        ...

    def merge(self, left: State, right: State) -> State:
        """Return one state for two groups that become one: the earlier rows' first."""
        ...

    def result(self, state: State | None) -> Any:  # noqa: ANN401 - whatever a column holds
        """Return the result as a plain value."""
        ...
