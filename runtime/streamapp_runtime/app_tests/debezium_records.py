"""Rows as Debezium writes their changes: the key and the value of a record, in JSON."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from streamapp_core.app_tests.app_test import Row
from streamapp_core.plan.debezium_envelopes import AFTER, KIND, TIME_UNITS, time_name
from streamapp_core.spec.streams import StreamSpec

_CHANGED, _DELETED = "u", "d"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def debezium_record(row: Row, values: Mapping[str, Any], stream: StreamSpec, *, deletes: bool) -> tuple[bytes, bytes]:
    """Return key and value of the record of a row; `values` are those of its columns, as Arrow has them."""
    beside: dict[str, Any] = {}
    for column, path in stream.debezium.columns.items():
        above, _, name = path.rpartition(".")
        place = beside.setdefault(above, {}) if above else beside
        place[name] = _beside(path, row.get(column), values.get(column))
    after = {name: value for name, value in row.items() if name not in stream.debezium.columns}
    kind = _DELETED if deletes else beside.get(KIND) or _CHANGED
    envelope = {"before": None, AFTER: None if deletes else after, **beside, KIND: kind}
    key = {name: row.get(name) for name in stream.key_columns}
    return json.dumps(key).encode(), json.dumps(envelope).encode()


def _beside(path: str, written: object, value: object) -> object:
    """Return a value that stands beside the row: of times the whole number that they are there."""
    unit = time_name(path)
    if unit is None or not isinstance(value, datetime):
        return written
    factor = TIME_UNITS[unit]
    micros = (value - _EPOCH) // timedelta(microseconds=1)
    return micros // factor if factor > 0 else micros * -factor
