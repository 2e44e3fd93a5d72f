"""The functions that random apps call, as a user would write them. `differential.reference` says what they mean."""

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

HOUR = 3_600_000
FIXED = int(datetime(2024, 3, 1, 22, tzinfo=UTC).timestamp() * 1000)
"""A time after all ordinary rows, and before the last rows of a stream without an end."""


def twice(rows: pa.Table) -> pa.Table:
    """Return each row, and once more with another id."""
    number = rows.schema.get_field_index("id")
    again = rows.set_column(number, rows.schema.field(number), pc.add(rows["id"], pa.scalar(100, pa.int32())))
    return pa.concat_tables([rows, again])


def later(rows: pa.Table) -> pa.Table:
    """Move each row by half an hour."""
    number = rows.schema.get_field_index("__event_time")
    moved = pc.add(rows["__event_time"], pa.scalar(HOUR // 2, pa.int64()))
    return rows.set_column(number, rows.schema.field(number), moved)


class _Totals:
    """Emits count and sum of each key at one time: no order of rows makes a difference."""

    key: str | tuple[str, ...]

    def process(self, rows: pa.Table, state) -> None:
        for row in rows.to_pylist():
            if row["__event_time"] >= FIXED:
                continue
            key = _key(row, self.key)
            state.put(key, _added(state.get(key) or [0, None], row["v"]))
            state.set_timer(key, FIXED)

    def on_timers(self, timers: pa.Table, state) -> pa.Table:
        return pa.Table.from_pylist([_result(key, state.get(key)) for key in _keys(timers, self.key)])


class _Silence:
    """Emits count and sum of a key when nothing has come for an hour."""

    key: str | tuple[str, ...]

    def process(self, rows: pa.Table, state) -> None:
        for row in rows.to_pylist():
            key = _key(row, self.key)
            value = state.get(key)
            if value is not None:
                state.delete_timer(key, value[2])
            until = row["__event_time"] + HOUR
            state.put(key, [*_added(value or [0, None], row["v"]), until])
            state.set_timer(key, until)

    def on_timers(self, timers: pa.Table, state) -> pa.Table:
        results = []
        for key in _keys(timers, self.key):
            results.append(_result(key, state.get(key)))
            state.delete(key)
        return pa.Table.from_pylist(results)


class _Hourly:
    """Emits count and sum of a key at every full hour: a timer sets the next one, as long as rows come."""

    key: str | tuple[str, ...]

    def process(self, rows: pa.Table, state) -> None:
        for row in rows.to_pylist():
            key = _key(row, self.key)
            state.put(key, _added(state.get(key) or [0, None], row["v"]))
            state.set_timer(key, -(-row["__event_time"] // HOUR) * HOUR)

    def on_timers(self, timers: pa.Table, state) -> pa.Table | None:
        results = []
        for timer in timers.to_pylist():
            key = _key(timer, self.key)
            value = state.get(key)
            if value is not None:
                results.append(_result(key, value) | {"__event_time": timer["__event_time"]})
                state.delete(key)
                state.set_timer(key, timer["__event_time"] + HOUR)
        return pa.Table.from_pylist(results) if results else None


class _Before:
    """Emits each row with the sum of the earlier ones of its key; those of its own time do not count."""

    key: str | tuple[str, ...]

    def process(self, rows: pa.Table, state) -> pa.Table:
        sums = []
        for row in rows.to_pylist():
            time, before, at = state.get(_key(row, self.key)) or [row["__event_time"], 0, 0]
            if row["__event_time"] > time:
                time, before, at = row["__event_time"], before + at, 0
            sums.append(before)
            state.put(_key(row, self.key), [time, before, at + (row["v"] or 0)])
        number = rows.schema.get_field_index("v")
        return rows.set_column(number, rows.schema.field(number), pa.array(sums, pa.int32()))


def _key(row: dict, key: str | tuple[str, ...]) -> object:
    return row[key] if isinstance(key, str) else tuple(row[name] for name in key)


def _keys(rows: pa.Table, key: str | tuple[str, ...]) -> list[object]:
    return [_key(row, key) for row in rows.to_pylist()]


def _added(value: list, number: int | None) -> list:
    total = value[1] if number is None else (value[1] or 0) + number
    return [value[0] + 1, total]


def _result(key: object, value: list) -> dict:
    g, k = key if isinstance(key, tuple) else (key, key)
    return {"id": value[0], "k": k, "g": g, "v": value[1]}


class TotalsByK(_Totals):
    key = "k"


class TotalsByG(_Totals):
    key = "g"


class SilenceByK(_Silence):
    key = "k"


class SilenceByG(_Silence):
    key = "g"


class HourlyByK(_Hourly):
    key = "k"


class HourlyByG(_Hourly):
    key = "g"


class BeforeByK(_Before):
    key = "k"


class BeforeByG(_Before):
    key = "g"


class TotalsByGAndK(_Totals):
    key = ("g", "k")


class SilenceByGAndK(_Silence):
    key = ("g", "k")


class HourlyByGAndK(_Hourly):
    key = ("g", "k")


class BeforeByGAndK(_Before):
    key = ("g", "k")
