"""Parts, casts and texts of intervals."""

from streamapp_core.data_types import INTERVALS, SPATIAL, all_types
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.interval_types import MICROSECONDS, MONTHS, bounds, units
from streamapp_core.expressions.typed_sql import Value, bound, cast, duckdb_type, try_cast
from streamapp_core.schema import INT, TINYINT, DataType, TypeKind

SECONDS = DataType(TypeKind.DECIMAL, 8, 6)
_WHOLE = frozenset({TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.BIGINT})
_NEXT = {"month": "year", "hour": "day", "minute": "hour", "second": "minute"}
"""The unit that is made of several of these."""


def part_of_interval(name: str, value: Value) -> Value:
    """Write `extract(name from interval)`: a part of an interval, with its sign.

    Raises:
        Refusal: The interval has no such unit.
    """
    data_type = value.type or INT
    if name not in units(data_type):
        raise invalid(f"an {data_type} has no {name}; it has {', '.join(units(data_type))}")
    if name == "second":
        digits = cast(f"{value.sql} % {MICROSECONDS['minute']}", "DECIMAL(14,6)")
        return Value(SECONDS, cast(f"{digits} * 0.000001", SECONDS))
    size = _sizes(data_type)[name]
    if name in ("year", "day"):
        return Value(INT, cast(f"{value.sql} // {size}", INT))
    return Value(TINYINT, cast(f"{value.sql} % {_sizes(data_type)[_NEXT[name]]} // {size}", TINYINT))


def cast_interval(value: Value, target: DataType) -> str | None:
    """Return the SQL of a cast of an interval to another type but string; None if there is none."""
    source = value.type or target
    last = _sizes(source)[bounds(source)[1]]
    if source.kind is target.kind:
        size = _sizes(target)[bounds(target)[1]]
        return f"CAST({value.sql} // {size} * {size} AS {duckdb_type(target)})" if size > last else value.sql
    if target.kind in _WHOLE:
        return try_cast(f"{value.sql} // {last}", target)
    return None


def interval_of_number(value: Value, target: DataType) -> str:
    """Return the SQL of a cast of a whole number to an interval: so many of its last unit."""
    return try_cast(f"CAST({value.sql} AS HUGEINT) * {_sizes(target)[bounds(target)[1]]}", target)


def text_of_interval(value: Value, data_type: DataType) -> str:
    """Return the SQL of an interval's text: `INTERVAL '1 02:03:04.5' DAY TO SECOND`."""
    names, sizes = units(data_type), _sizes(data_type)

    def write(v: str) -> str:
        pieces = []
        for index, name in enumerate(names):
            number = f"abs(CAST({v} AS HUGEINT))"
            if index:
                pieces.append("'-'" if name == "month" else "' '" if name == "hour" else "':'")
                number = f"{number} % {sizes[names[index - 1]]}"
            digits = f"CAST({number} // {sizes[name]} AS VARCHAR)"
            if name in ("hour", "minute", "second"):
                digits = f"CASE WHEN {number} // {sizes[name]} < 10 THEN '0' ELSE '' END || {digits}"
            pieces.append(f"({digits})")
            if name == "second":
                fraction = f"rtrim(lpad(CAST({number} % {sizes[name]} AS VARCHAR), 6, '0'), '0')"
                pieces.append(f"CASE WHEN {number} % {sizes[name]} > 0 THEN '.' || {fraction} ELSE '' END")
        sign = f"CASE WHEN {v} < 0 THEN '-' ELSE '' END"
        return f"'INTERVAL ''' || {sign} || {' || '.join(pieces)} || ''' {data_type.units.upper()}'"

    return bound([value], write)


def check_held(data_type: DataType, what: str) -> None:
    """Refuse intervals and geometries where a value is kept or sent.

    Raises:
        Refusal: The type is, or holds, one that no column has.
    """
    found = next((inner for inner in all_types(data_type) if inner.kind in INTERVALS | SPATIAL), None)
    if found is None:
        return
    repair = "write it by st_asbinary"
    if found.kind in INTERVALS:
        repair = f"cast it to string, or to bigint (so many {bounds(found)[1]}s)"
    article = "of type" if found is not data_type else "an" if found.kind in INTERVALS else "a"
    raise Refusal(f"{what} is {article} {data_type}, which no column can hold: {repair}")


def _sizes(data_type: DataType) -> dict[str, int]:
    return MONTHS if data_type.kind is TypeKind.YEAR_MONTH_INTERVAL else MICROSECONDS
