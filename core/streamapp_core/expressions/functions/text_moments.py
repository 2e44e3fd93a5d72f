"""Dates and timestamps in texts of XML and CSV: by the patterns of a call; else `yyyy-MM-dd`, and as a cast does it."""

from collections.abc import Mapping

from streamapp_core.data_types import array_of
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.functions.date_parts import text_moment
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import BOOLEAN, STRING, DataType, TypeKind

_DAY = Value(STRING, text("yyyy-MM-dd"), "yyyy-MM-dd", simple=True)


class TextMoments:
    """A writer of values out of texts, with the patterns of a call."""

    def __init__(self, patterns: Mapping[TypeKind, Value]) -> None:
        """Take the patterns that are given."""
        self._patterns = {TypeKind.DATE: _DAY, **patterns}

    def typed(self, value: Value, target: DataType) -> Value:
        """Write a value of the type out of a text, or out of texts in lists and structs."""
        if target.nested:
            return nested_values.converted(value, target, self.typed) or value
        if target.kind not in self._patterns:
            return converted(value, target)
        pattern = self._patterns[target.kind]
        return Value(target, bound([value], lambda v: text_moment(target, Value(STRING, v, simple=True), pattern).sql))

    def there(self, values: str, target: DataType) -> str:
        """Write for each of a list of texts whether it is a value of the type."""
        found = nested_values.each(values, STRING, lambda value: f"{self.typed(value, target).sql} IS NOT NULL")
        return cast(found, array_of(BOOLEAN))
