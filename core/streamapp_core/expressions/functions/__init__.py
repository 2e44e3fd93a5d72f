"""The table of the functions that expressions may call: what is not in it is refused."""

from collections.abc import Mapping

from streamapp_core.expressions.functions.aggregates_and_generators import AGGREGATE_NAMES, GENERATOR_NAMES
from streamapp_core.expressions.functions.conditionals import CHOICES
from streamapp_core.expressions.functions.dates_and_times import MOMENTS
from streamapp_core.expressions.functions.function_table import Function
from streamapp_core.expressions.functions.numbers import NUMBERS
from streamapp_core.expressions.functions.strings import STRINGS

FUNCTIONS: tuple[Function, ...] = (*CHOICES, *NUMBERS, *STRINGS, *MOMENTS)
BY_NAME: Mapping[str, Function] = {
    name: function for function in FUNCTIONS for name in (function.name, *function.aliases)
}

__all__ = ["AGGREGATE_NAMES", "BY_NAME", "FUNCTIONS", "GENERATOR_NAMES", "Function"]
