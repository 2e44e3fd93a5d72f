"""Visits every state that steps lead to, the nearest first, so that the way to a problem is a shortest one."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

State = TypeVar("State")


class Found(NamedTuple, Generic[State]):
    """What a search has found: a problem and the steps that lead to it, or none; and how many states it has seen."""

    problem: str | None
    way: tuple[str, ...]
    states: int
    last: tuple[State, ...]
    """The states that no step leads out of."""


def search(
    first: State,
    next_states: Callable[[State], Iterable[tuple[str, State]]],
    problem: Callable[[State], str | None],
) -> Found[State]:
    """Visit all states, up to the first one with a problem."""
    came_from: dict[State, tuple[str, State] | None] = {first: None}
    waiting = deque([first])
    last: list[State] = []
    while waiting:
        state = waiting.popleft()
        wrong = problem(state)
        if wrong is not None:
            return Found(wrong, _way(state, came_from), len(came_from), ())
        ends = True
        for step, after in next_states(state):
            ends = False
            if after not in came_from:
                came_from[after] = (step, state)
                waiting.append(after)
        if ends:
            last.append(state)
    return Found(None, (), len(came_from), tuple(last))


def _way(state: State, came_from: dict[State, tuple[str, State] | None]) -> tuple[str, ...]:
    steps: list[str] = []
    while (before := came_from[state]) is not None:
        step, state = before
        steps.append(step)
    return tuple(reversed(steps))
