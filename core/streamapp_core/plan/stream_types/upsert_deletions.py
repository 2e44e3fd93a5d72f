"""Operators that delete keys of rows that replace each other."""

from collections.abc import Iterable

from streamapp_core.expressions import Condition
from streamapp_core.expressions.columns_used import columns_used
from streamapp_core.plan.stream_types.stream_type import Changes, Upsert


def filter_deletes(condition: Condition, changes: Changes) -> bool:
    """Return whether a filter of such rows deletes keys: one that passed may have a newest value that does not pass.

    By a condition on the key and what follows from it, all values of a key pass or none does.
    """
    return isinstance(changes, Upsert) and not columns_used(condition) <= changes.fixed


def moving_columns(columns: Iterable[str], changes: Changes) -> tuple[str, ...]:
    """Return the columns that may change with a newer value of a key, in lower case.

    A partition that is chosen by one of them may be another one then.
    """
    if not isinstance(changes, Upsert):
        return ()
    return tuple(column.lower() for column in columns if column.lower() not in changes.fixed)
