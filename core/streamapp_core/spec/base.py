"""The common base of all spec models: strictness, bounds and the small types of fields."""

import keyword
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel, to_snake

from streamapp_core.time_formats import format_milliseconds, parse_milliseconds

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,12})(ms|s|m|h|d)")
DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$"


class SpecModel(BaseModel):
    """A part of the resource: immutable, camelCase in YAML, no unknown fields, no silent conversions."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True, validate_default=True)


def parameter_name(field: str) -> str:
    """Return the name that a field of YAML has in Python: in snake case, and no keyword."""
    name = to_snake(field)
    return f"{name}_" if keyword.iskeyword(name) else name


def parse_duration(value: object) -> int:
    """Read `50ms`, `10s`, `5m`, `1h` or `1d` as milliseconds; whole numbers are milliseconds already.

    Raises:
        ValueError: the text is no duration.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is no duration; write a number and a unit: 50ms, 10s, 5m, 1h or 1d")
    return int(match[1]) * _UNITS[match[2]]


def format_duration(milliseconds: int) -> str:
    """Write milliseconds as the shortest exact duration: 90,000 is `90s`, 3,600,000 is `1h`."""
    for unit, size in sorted(_UNITS.items(), key=lambda item: -item[1]):
        if milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    raise AssertionError("every whole number is a multiple of 1 ms")


def _parse_written_duration(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no duration; write a number and a unit: 50ms, 10s, 5m, 1h or 1d")  # noqa: TRY004 - pydantic wants it
    return parse_duration(value)


_duration = (
    BeforeValidator(_parse_written_duration),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^[0-9]{1,12}(ms|s|m|h|d)$",
            "maxLength": 14,
            "description": "A length of time, such as `50ms`, `10s`, `5m`, `1h` or `1d`.",
        }
    ),
)
Duration = Annotated[int, *_duration]
"""A length of time: text in YAML, whole milliseconds here."""


MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,3})?)?(Z|[+-][0-9]{2}:[0-9]{2})$"


def parse_moment(value: object) -> int:
    """Read a moment with its zone, such as `2026-01-01T00:00:00Z`, as milliseconds since 1970.

    Raises:
        ValueError: the value is no such text, or a moment before 1970.
    """
    wrong = f"{value!r} is no time; write a date, a time of day and a zone: 2026-01-01T00:00:00Z"
    if not isinstance(value, str) or re.fullmatch(MOMENT, value) is None:
        raise ValueError(wrong)
    try:
        milliseconds = parse_milliseconds(value)
    except ValueError:
        raise ValueError(wrong) from None
    if milliseconds < 0:
        raise ValueError(f"{value!r} is before 1970, and no record has such a time")
    return milliseconds


Moment = Annotated[
    int,
    BeforeValidator(parse_moment),
    PlainSerializer(format_milliseconds, return_type=str),
    WithJsonSchema({"type": "string", "pattern": MOMENT, "maxLength": 29}),
]
"""A moment: text with its zone in YAML, whole milliseconds since 1970 here."""


def between(minimum: str, maximum: str) -> AfterValidator:
    """Return what refuses lengths of time that are shorter or longer."""
    low, high = parse_duration(minimum), parse_duration(maximum)

    def check(milliseconds: int) -> int:
        if not low <= milliseconds <= high:
            raise ValueError(f"{format_duration(milliseconds)} is not between {minimum} and {maximum}")
        return milliseconds

    return AfterValidator(check)


Forever = Literal["forever"]


def _parse_ttl(value: object) -> object:
    return value if value == "forever" else _parse_written_duration(value)


Ttl = Annotated[
    int | Forever,
    BeforeValidator(_parse_ttl),
    PlainSerializer(lambda ttl: format_duration(ttl) if isinstance(ttl, int) else ttl, return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^([0-9]{1,12}(ms|s|m|h|d)|forever)$",
            "maxLength": 14,
            "description": "How long after its last row, in event time, a key or row of the state is kept: a length of "
            "time, or `forever`, which nothing warns of.",
        }
    ),
]
"""The time to live of an entry of state: text in YAML, whole milliseconds here, or `forever`."""

BOUNDED_TWICE = "`within` bounds the state already; leave `ttl` out"

Name = Annotated[
    str,
    Field(min_length=1, max_length=63),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 63, "pattern": DNS_LABEL}),
]
"""A DNS label. Its form is checked with all names at once (`spec.name_checks`), so that one bad name hides nothing."""

ColumnName = Annotated[str, Field(min_length=1, max_length=255)]


def read_list_of_key(value: object) -> object:
    """Return the parts of a key that is written as a list; those of a list of one as that one.

    Raises:
        ValueError: the list is empty.
    """
    if not isinstance(value, list):
        return value
    if not value:
        raise ValueError("name at least one column")
    return value[0] if len(value) == 1 else tuple(value)


def _different(value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    names = [name.lower() for name in key_columns(value)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"`{twice}` is in the key twice; name each column once")
    return value


def key_columns(key: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the columns of a key, however it was written; none of no key."""
    if key is None:
        return ()
    return key if isinstance(key, tuple) else (key,)


KeyColumns = Annotated[
    ColumnName | Annotated[tuple[ColumnName, ...], Field(min_length=1, max_length=20)],
    BeforeValidator(read_list_of_key),
    AfterValidator(_different),
    Field(description="A column, or a list of columns, whose values together are the key."),
]
"""A column, or several whose values together are the key; a list of one is that column."""
Text = Annotated[str, Field(min_length=1, max_length=1_024)]
Expression = Annotated[
    str, Field(min_length=1, max_length=16_384, description="A condition, an expression or a select list in Spark SQL.")
]
SqlText = Annotated[
    str,
    Field(
        min_length=1,
        max_length=10_000,
        description="A query in Spark SQL over streams, operators and tables by their names: `select ... from ...`.",
    ),
]
SchemaText = Annotated[
    str,
    Field(
        min_length=1, max_length=65_536, description="Columns as in Spark's DDL: `carrier string, dep_delay double`."
    ),
]
FunctionName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$", max_length=512, description="A Python function: `module:callable`."
    ),
]
Quantity = Annotated[
    str,
    Field(
        pattern=QUANTITY,
        max_length=32,
        description="An amount of memory or disk as Kubernetes writes it: `512Mi`, `2Gi`.",
    ),
]
PartitionCount = Annotated[int, Field(ge=1, le=10_000)]
PodTemplate = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "description": "A pod template, or a part of one, that is merged into ours; Kubernetes checks it.",
        }
    ),
]
