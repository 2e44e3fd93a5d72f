"""Expressions: Spark SQL texts, checked against schemas and written as DuckDB SQL.

Nothing is evaluated here. See docs/expressions.md.
"""

from streamapp_core.expressions.aggregate_select import Aggregation, check_aggregate
from streamapp_core.expressions.checker import KNOWN_FUNCTIONS
from streamapp_core.expressions.expression_issues import ExpressionError, ExpressionIssue
from streamapp_core.expressions.ordering import Ordering, check_ordering
from streamapp_core.expressions.over_frames import OverFrames
from streamapp_core.expressions.partial_aggregates import ARRIVAL_COLUMN, FOLDS, Merge, Partial, PlainAggregate
from streamapp_core.expressions.queries import (
    DUCKDB_SETTINGS,
    deletions_sql,
    filter_sql,
    growth_sql,
    lists_sql,
    nested,
    partials_sql,
    result_sql,
    select_sql,
    table,
    truth_sql,
    unnest_sql,
)
from streamapp_core.expressions.select import (
    Condition,
    Select,
    SelectColumn,
    check_condition,
    check_flat_map,
    check_select,
)
from streamapp_core.expressions.user_functions import NO_FUNCTIONS, FunctionSignature, UserFunctions

__all__ = [
    "ARRIVAL_COLUMN",
    "DUCKDB_SETTINGS",
    "FOLDS",
    "KNOWN_FUNCTIONS",
    "NO_FUNCTIONS",
    "Aggregation",
    "Condition",
    "ExpressionError",
    "ExpressionIssue",
    "FunctionSignature",
    "Merge",
    "Ordering",
    "OverFrames",
    "Partial",
    "PlainAggregate",
    "Select",
    "SelectColumn",
    "UserFunctions",
    "check_aggregate",
    "check_condition",
    "check_flat_map",
    "check_ordering",
    "check_select",
    "deletions_sql",
    "filter_sql",
    "growth_sql",
    "lists_sql",
    "nested",
    "partials_sql",
    "result_sql",
    "select_sql",
    "table",
    "truth_sql",
    "unnest_sql",
]
