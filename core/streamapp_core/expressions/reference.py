"""The tables of `docs/expressions.md`: what expressions may hold, from the same values that the checker uses."""

from collections.abc import Iterable

from streamapp_core.expressions.functions.aggregates_and_generators import AGGREGATES, GENERATORS, Special
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
from streamapp_core.expressions.functions.interval_functions import INTERVAL_FUNCTIONS
from streamapp_core.expressions.functions.json_parts import JSON_PARTS
from streamapp_core.expressions.functions.json_types import JSON_READERS
from streamapp_core.expressions.functions.json_writers import JSON_WRITERS
from streamapp_core.expressions.functions.lambdas import LAMBDA_FUNCTIONS
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


def _line(usage: str, result: str, doc: str) -> Special:
    return Special((), usage, result, doc)


OPERATORS = (
    _line("a + b, a - b, a * b", "the common number type", "Whole numbers wrap around; a decimal gets more digits."),
    _line("a / b", "double, or decimal", "Null if b is 0. Whole numbers are divided as doubles."),
    _line("a % b", "the common number type", "The remainder, with the sign of a; null if b is 0."),
    _line("a div b", "bigint", "The whole part of the quotient of whole numbers or decimals; null if b is 0."),
    _line("-a", "the type of a", "Whole numbers wrap around."),
    _line(
        "a + b, a - b",
        "date, timestamp or interval",
        "Of a date or timestamp and an interval, of a date and days (an int), or of two intervals. A month later is "
        "the last day of a shorter month. The interval may be `make_interval(years, months, weeks, days, "
        "hours, minutes, seconds)`.",
    ),
    _line("a - b", "interval", "The time from b to a: of dates in days, of timestamps in days to seconds."),
    _line("a * b, a / b, a div b", "interval; bigint", "An interval times or over a number; one over another."),
    _line("a & b, a | b, a ^ b, ~a", "the common whole type", "The bits of whole numbers."),
    _line("a << b, a >> b, a >>> b", "int or bigint", "Shifts the bits; >> keeps the sign, >>> fills up with zeros."),
    _line(
        "a = b, <>, !=, <, <=, >, >=",
        "boolean",
        "Null if a side is null. NaN equals NaN and is the greatest number; a boolean may equal 0 or 1.",
    ),
    _line("a <=> b", "boolean", "As =, but nulls are equal, and it is never null. Also a is not distinct from b."),
    _line("a and b, a or b, not a", "boolean", "Of conditions; null is unknown."),
    _line("a is null, a is true, a is false", "boolean", "Never null; also a is not null, and so on."),
    _line(
        "a in (b, c), a not in (b, c)", "boolean", "Compared in the common type of all; also (a, b) in ((c, d), (e, f))"
    ),
    _line("a between b and c", "boolean", "As a >= b and a <= c."),
    _line(
        "a like 'pattern'",
        "boolean",
        "% is any text, _ one character; a backslash, or a character behind `escape`, takes them as they are. "
        "The pattern may be computed.",
    ),
    _line("a ilike 'pattern'", "boolean", "As like, whatever the case of the letters."),
    _line(
        "a like any ('p', 'q'), a like all ('p', 'q')",
        "boolean",
        "Whether it is like one, or all, of the patterns; so with `not` and `ilike`.",
    ),
    _line("a rlike 'pattern'", "boolean", "Whether the regular expression is found in the text."),
    _line("case when a then b else c end", "the common type", "Also case x when a then b ... end."),
    _line("cast(a as type), a::type", "the type", "Null where the value has no meaning in the type."),
    _line(
        "try_cast(a as type)",
        "the type",
        "As a cast, but null where it would wrap around, saturate, or cut the fraction of a text.",
    ),
    _line("a.b", "the type of the field", "Field b of the struct a; an array of the fields, for an array of structs."),
    _line("a[0], a['k']", "the type of the element", "The element at a position from 0, or of a key; null if none is."),
    _line(
        "v:a.b[0]",
        "variant",
        "At a path into the variant v, as variant_get(v, '$.a.b[0]'): v:a::int casts it, v:`a b` quotes a name.",
    ),
    _line("a || b", "string", "One text after the other; null if one is null."),
    _line("(a, b)", "struct", "As struct(a, b)."),
)


def reference() -> str:
    """Write the tables as Markdown, as `docs/expressions.md` holds them."""
    tables = [
        ("Operators", OPERATORS),
        ("Choices", _lines(CHOICES)),
        ("Casts", _lines(CASTS)),
        ("Arrays, maps and structs", _lines((*CONSTRUCTORS, *ARRAYS, *SEQUENCES, *MAPS, *VECTORS))),
        ("Functions with lambdas", _lines(function.line for function in LAMBDA_FUNCTIONS)),
        ("Numbers", _lines((*NUMBERS, *ROUNDING, *CALCULATIONS))),
        ("Angles and logarithms", _lines(TRIGONOMETRY)),
        ("Bits", _lines(BITS)),
        ("Texts", _lines((*STRINGS, *TEXT_PARTS, *SIMILARITY))),
        ("Regular expressions", _lines(TEXT_PATTERNS)),
        ("Forms of texts", _lines((*TEXT_FORMS, *NUMBER_TEXTS))),
        ("Codes, hashes and URLs", _lines((*TEXT_CODES, *BYTE_TEXTS, *HASHES, *ENCRYPTION, *URLS))),
        ("Sketches, which aggregates make", _lines(SKETCHES)),
        ("JSON", _lines((*JSON_PARTS, *JSON_WRITERS, *JSON_READERS))),
        ("CSV", _lines(CSV_TEXTS)),
        ("Variants", _lines(VARIANTS)),
        ("XML", _lines((*XML_PATHS, *XML_READERS, *XML_WRITERS))),
        ("Geometries", _lines(GEOMETRIES)),
        ("Dates and timestamps", _lines((*MOMENTS, *DATE_PARTS, *INTERVAL_FUNCTIONS, *ZONE_FUNCTIONS))),
        ("Aggregates (in `window` and `aggregate`)", AGGREGATES),
        ("Many rows of one (in `flatMap`)", GENERATORS),
    ]
    return "\n".join(_table(title, lines) for title, lines in tables)


def _lines(functions: Iterable[Function]) -> list[Special]:
    return [
        _line(function.usage, function.result, function.doc + _aliases(function))
        for function in sorted(functions, key=lambda function: function.name)
    ]


def _aliases(function: Function) -> str:
    return f" Also `{'`, `'.join(function.aliases)}`." if function.aliases else ""


def _table(title: str, lines: Iterable[Special]) -> str:
    rows = "".join(f"| `{_cell(line.usage)}` | {_cell(line.result)} | {_cell(line.doc)} |\n" for line in lines)
    return f"### {title}\n\n| write | gives | |\n|---|---|---|\n{rows}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
