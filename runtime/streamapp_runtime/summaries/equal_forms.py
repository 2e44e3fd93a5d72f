"""Plain values as they are found in sets: equal if Spark takes them for equal."""

import math
from typing import Any


def equal_form(value: Any) -> Any:  # noqa: ANN401 - a plain value of any type
    """Return a value, or what stands for it in sets: a tuple for a list, one zero, one not-a-number."""
    if isinstance(value, list | tuple):
        return tuple(map(equal_form, value))
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value
