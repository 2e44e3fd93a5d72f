"""Functions that take a moment from one time zone to another."""

from streamapp_core.expressions.conversions import aware, implied, naive
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.local_times import local_time, moment_of
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import STRING, TIMESTAMP, TIMESTAMP_NTZ

_TIMESTAMP = Parameter("timestamp", Accepts.TIMESTAMP)
_ZONE = Parameter("zone", Accepts.TEXT)


def _from_utc(moment: Value, zone: Value) -> Value:
    return Value(TIMESTAMP, aware(local_time(moment.sql, zone)))


def _to_utc(moment: Value, zone: Value) -> Value:
    return Value(TIMESTAMP, moment_of(naive(moment), zone))


def _converted(source: Value, target: Value, moment: Value | None = None) -> Value:
    """Write `convert_timezone`; with two arguments the first is the target, and the source is UTC."""
    if moment is None:
        source, target, moment = Value(STRING, "", "UTC"), source, target
    start, end = (implied(zone, STRING) for zone in (source, target))
    return Value(TIMESTAMP_NTZ, local_time(moment_of(implied(moment, TIMESTAMP_NTZ).sql, start), end))


ZONE_FUNCTIONS = (
    Function(
        name="convert_timezone",
        parameters=tuple(Parameter(name, Accepts.ANY) for name in ("source", "target", "timestamp")),
        optional=1,
        result="timestamp_ntz",
        doc="What clocks of the target [time zone](#time-zones) show when those of the source (left out: UTC) show the "
        "timestamp.",
        write=_converted,
    ),
    Function(
        name="from_utc_timestamp",
        parameters=(_TIMESTAMP, _ZONE),
        result="timestamp",
        doc="What clocks of a [time zone](#time-zones) show when those in UTC show the timestamp.",
        write=_from_utc,
    ),
    Function(
        name="to_utc_timestamp",
        parameters=(_TIMESTAMP, _ZONE),
        result="timestamp",
        doc="What clocks in UTC show when those of a [time zone](#time-zones) show the timestamp.",
        write=_to_utc,
    ),
)
