"""The values that operators with state are built from, whoever builds them: a task, or a reader of its state."""

from collections.abc import Callable
from dataclasses import dataclass

from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulContext:
    """The store of one operator, and what it shares with others.

    Windows close at most `results_at_once` in one step, and groups keep at most `values_inline` values in one record,
    if these are given. `time_of_day` returns milliseconds since 1970.
    """

    store: Store
    engine: SqlEngine
    time_of_day: Callable[[], int]
    results_at_once: int | None = None
    values_inline: int | None = None
