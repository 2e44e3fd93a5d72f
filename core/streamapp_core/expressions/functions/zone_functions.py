"""Functions that take a moment from one time zone to another."""

from streamapp_core.expressions.conversions import aware, naive
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.local_times import local_time, moment_of
from streamapp_core.expressions.time_zones import time_zone
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import TIMESTAMP

_TIMESTAMP = Parameter("timestamp", Accepts.TIMESTAMP)
_ZONE = Parameter("zone", Accepts.TEXT_LITERAL)


def _from_utc(moment: Value, zone: Value) -> Value:
    return Value(TIMESTAMP, aware(local_time(moment.sql, time_zone(str(zone.literal)))))


def _to_utc(moment: Value, zone: Value) -> Value:
    return Value(TIMESTAMP, moment_of(naive(moment), time_zone(str(zone.literal))))


ZONE_FUNCTIONS = (
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
