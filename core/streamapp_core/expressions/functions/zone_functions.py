"""Functions that take a moment from one time zone to another."""

from streamapp_core.expressions.conversions import implied
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.local_times import local_time, moment_of, read_in, shown_in
from streamapp_core.expressions.session_zone import session_zone
from streamapp_core.expressions.time_zones import UTC
from streamapp_core.expressions.typed_sql import Value, text
from streamapp_core.schema import STRING, TIMESTAMP, TIMESTAMP_NTZ

_TIMESTAMP = Parameter("timestamp", Accepts.TIMESTAMP)
_ZONE = Parameter("zone", Accepts.TEXT)


def _from_utc(moment: Value, zone: Value) -> Value:
    return Value(TIMESTAMP, read_in(UTC, local_time(moment.sql, zone)))


def _to_utc(moment: Value, zone: Value) -> Value:
    return Value(TIMESTAMP, moment_of(shown_in(UTC, moment.sql), zone))


def _converted(source: Value, target: Value, moment: Value | None = None) -> Value:
    """Write `convert_timezone`; with two arguments the first is the target, and the source is that of the app."""
    if moment is None:
        source, target, moment = Value(STRING, "", session_zone().id), source, target
    start, end = (implied(zone, STRING) for zone in (source, target))
    return Value(TIMESTAMP_NTZ, local_time(moment_of(implied(moment, TIMESTAMP_NTZ).sql, start), end))


ZONE_FUNCTIONS = (
    Function(
        name="current_timezone",
        parameters=(),
        result="string",
        doc="The [time zone](#time-zones) of the app.",
        write=lambda: Value(STRING, text(session_zone().id), session_zone().id, simple=True),
    ),
    Function(
        name="convert_timezone",
        parameters=tuple(Parameter(name, Accepts.ANY) for name in ("source", "target", "timestamp")),
        optional=1,
        result="timestamp_ntz",
        doc="What clocks of the target [time zone](#time-zones) show when those of the source (left out: that of "
        "the app) show the "
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
