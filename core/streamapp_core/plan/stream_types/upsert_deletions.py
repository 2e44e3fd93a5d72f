"""Operators that delete keys of rows that replace each other."""

from streamapp_core.expressions import Condition
from streamapp_core.expressions.columns_used import columns_used
from streamapp_core.plan.stream_types.stream_type import Changes, Upsert


def filter_deletes(condition: Condition, changes: Changes) -> bool:
    """Return whether a filter of such rows deletes keys: one that passed may have a newest value that does not pass.

    By a condition on the key and what follows from it, all values of a key pass or none does.
    """
    return isinstance(changes, Upsert) and not columns_used(condition) <= changes.fixed


def partition_moves_keys(column: str, changes: Changes) -> bool:
    """Return whether a key may go to another partition with a newer value, if such rows are regrouped by a column."""
    return isinstance(changes, Upsert) and column.lower() not in changes.fixed
