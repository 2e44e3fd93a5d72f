"""The table of the functions that expressions may call: what is not in it is refused."""

from collections.abc import Mapping

from streamapp_core.expressions.functions.aggregates_and_generators import AGGREGATE_NAMES, GENERATOR_NAMES
from streamapp_core.expressions.functions.arrays import ARRAYS
from streamapp_core.expressions.functions.bits import BITS
from streamapp_core.expressions.functions.byte_texts import BYTE_TEXTS
from streamapp_core.expressions.functions.calculations import CALCULATIONS
from streamapp_core.expressions.functions.casts import CASTS
from streamapp_core.expressions.functions.conditionals import CHOICES
from streamapp_core.expressions.functions.csv_texts import CSV_TEXTS
from streamapp_core.expressions.functions.date_parts import DATE_PARTS
from streamapp_core.expressions.functions.dates_and_times import MOMENTS
from streamapp_core.expressions.functions.encryption import ENCRYPTION
from streamapp_core.expressions.functions.function_table import Function
from streamapp_core.expressions.functions.geometries import GEOMETRIES
from streamapp_core.expressions.functions.hashes import HASHES
from streamapp_core.expressions.functions.interval_functions import INTERVAL_FUNCTIONS, WITH_UNIT
from streamapp_core.expressions.functions.json_parts import JSON_PARTS
from streamapp_core.expressions.functions.json_types import JSON_READERS
from streamapp_core.expressions.functions.json_writers import JSON_WRITERS
from streamapp_core.expressions.functions.maps import MAPS
from streamapp_core.expressions.functions.nested_constructors import CONSTRUCTORS
from streamapp_core.expressions.functions.number_texts import NUMBER_TEXTS
from streamapp_core.expressions.functions.numbers import NUMBERS
from streamapp_core.expressions.functions.rounding import ROUNDING
from streamapp_core.expressions.functions.sequences import SEQUENCES
from streamapp_core.expressions.functions.similarity import SIMILARITY
from streamapp_core.expressions.functions.sketches import SKETCHES
from streamapp_core.expressions.functions.strings import STRINGS
from streamapp_core.expressions.functions.text_codes import TEXT_CODES
from streamapp_core.expressions.functions.text_forms import TEXT_FORMS
from streamapp_core.expressions.functions.text_parts import TEXT_PARTS
from streamapp_core.expressions.functions.text_patterns import TEXT_PATTERNS
from streamapp_core.expressions.functions.trigonometry import TRIGONOMETRY
from streamapp_core.expressions.functions.urls import URLS
from streamapp_core.expressions.functions.variants import VARIANTS
from streamapp_core.expressions.functions.vectors import VECTORS
from streamapp_core.expressions.functions.xml_paths import XML_PATHS
from streamapp_core.expressions.functions.xml_types import XML_READERS
from streamapp_core.expressions.functions.xml_writers import XML_WRITERS
from streamapp_core.expressions.functions.zone_functions import ZONE_FUNCTIONS

FUNCTIONS: tuple[Function, ...] = (
    *CHOICES,
    *CONSTRUCTORS,
    *ARRAYS,
    *SEQUENCES,
    *MAPS,
    *VECTORS,
    *NUMBERS,
    *ROUNDING,
    *CALCULATIONS,
    *TRIGONOMETRY,
    *BITS,
    *STRINGS,
    *TEXT_PARTS,
    *TEXT_PATTERNS,
    *TEXT_FORMS,
    *SIMILARITY,
    *NUMBER_TEXTS,
    *TEXT_CODES,
    *BYTE_TEXTS,
    *HASHES,
    *SKETCHES,
    *ENCRYPTION,
    *URLS,
    *JSON_PARTS,
    *JSON_WRITERS,
    *JSON_READERS,
    *CSV_TEXTS,
    *VARIANTS,
    *XML_PATHS,
    *XML_READERS,
    *XML_WRITERS,
    *GEOMETRIES,
    *MOMENTS,
    *DATE_PARTS,
    *INTERVAL_FUNCTIONS,
    *ZONE_FUNCTIONS,
    *CASTS,
)
BY_NAME: Mapping[str, Function] = {
    name: function for function in FUNCTIONS for name in (function.name, *function.aliases)
}

__all__ = ["AGGREGATE_NAMES", "BY_NAME", "FUNCTIONS", "GENERATOR_NAMES", "WITH_UNIT", "Function"]
