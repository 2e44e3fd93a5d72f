"""The columns that a checked expression uses."""

import sqlglot
from sqlglot import exp

from streamapp_core.expressions.aggregate_select import Aggregation
from streamapp_core.expressions.select import Condition, Select


def columns_used(compiled: Condition | Select | Aggregation) -> frozenset[str]:
    """Return the columns that an expression uses, in lower case."""
    match compiled:
        case Condition():
            texts = [compiled.sql]
        case Select():
            texts = [column.sql for column in compiled.columns]
        case Aggregation():
            texts = [by.sql for by in compiled.by_columns] + [partial.sql for partial in compiled.partials]
    parsed = (sqlglot.parse_one(text, read="duckdb") for text in texts)
    return frozenset(column.name.lower() for text in parsed for column in text.find_all(exp.Column))
