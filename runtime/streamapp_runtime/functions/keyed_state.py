"""The state of a `process` function: a value for each key, and timers in event time (docs/functions.md).

The writes of one call of the function count only if the call succeeds.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.rows.row_codec import encode_key, unify_float
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_pages import scan_pages

_VALUE, _AFTER_VALUES, _TIMER, _AFTER_TIMERS = b"v", b"w", b"t", b"u"
_TIME_BYTES, _EARLIEST = 8, 1 << 63
_LATEST = _EARLIEST - 1

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer in the state; its key as bytes, and as the store has it."""

    time: int
    key: bytes
    encoded: bytes

    @property
    def plain_key(self) -> Any:  # noqa: ANN401 - a value of any column
        """The key as the user has it."""
        return _decode(self.encoded)


@dataclass(frozen=True, slots=True)
class TimerWrites:
    """The timers that a call has written; deleted ones by key and time."""

    set: Sequence[Timer]
    deleted: Sequence[tuple[bytes, int]]


class KeyedState:
    """Values and timers of the keys of a call: those of its rows, or of its timers.

    A key of several columns is the tuple of their values.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: Mapping[Any, bytes] = {}
        self._values: dict[bytes, bytes | None] = {}
        self._timers: dict[bytes, bytes | None] = {}
        self.timers_set: dict[bytes, int] = {}
        """The earliest timer that the call has set for each key, also where it has deleted it again."""
        self.earliest_timer = self._first_timer()
        """A time before which no timer is set (milliseconds)."""

    def get(self, key: object) -> Any:  # noqa: ANN401 - any value that the user has put
        """Return the value of a key, None if there is none: a copy, which may be changed and put back."""
        at = _VALUE + self._at(key)
        data = self._values[at] if at in self._values else self._store.get(at)
        return None if data is None else _decode(data)

    def put(self, key: object, value: object) -> None:
        """Set the value of a key: numbers, texts, bytes, moments, None, and lists and dictionaries of these.

        Raises:
            UserFunctionFailed: it is something else.
        """
        at = _VALUE + self._at(key)
        try:
            self._values[at] = _encode(value)
        except (TypeError, OverflowError, ValueError) as error:
            raise UserFunctionFailed(f"can't store this value of key {key!r}: {error}") from None

    def delete(self, key: object) -> None:
        """Delete the value of a key."""
        self._values[_VALUE + self._at(key)] = None

    def set_timer(self, key: object, time: int) -> None:
        """Set a timer: `on_timers` is called when the watermark reaches its time (milliseconds).

        A key has one timer for a time, however often it is set.
        """
        if not -_EARLIEST <= time <= _LATEST:
            raise UserFunctionFailed(f"sets a timer for {time}, which is no time in milliseconds")
        at = self._at(key)
        self._timers[_timer(time, at)] = _encode(key)
        self.timers_set[at] = min(time, self.timers_set.get(at, time))

    def delete_timer(self, key: object, time: int) -> None:
        """Delete a timer; nothing happens if there is none."""
        self._timers[_timer(time, self._at(key))] = None

    def begin_call(self, keys: Collection[Any]) -> None:
        """Start a call for these keys; writes of an earlier one that failed are dropped."""
        self._keys = {key: encode_key([key]) for key in map(_unified, keys)}
        self._values, self._timers, self.timers_set = {}, {}, {}

    def end_call(self, *, keep_timers: bool = True) -> TimerWrites:
        """Write what a call that succeeded has written to the store; without `keep_timers`, set none."""
        timers = {at: value for at, value in self._timers.items() if keep_timers or value is None}
        for at, value in (*self._values.items(), *timers.items()):
            if value is None:
                self._store.delete(at)
            else:
                self._store.put(at, value)
        writes = TimerWrites(
            [_read_timer(at, value) for at, value in timers.items() if value is not None],
            [(_key_of(at), _time_of(at)) for at, value in timers.items() if value is None],
        )
        self.earliest_timer = min([self.earliest_timer, *(timer.time for timer in writes.set)])
        self.begin_call(())
        return writes

    def first_timers(self, before: int, limit: int) -> list[Timer]:
        """Return at most `limit` timers before a time, the earliest first."""
        if self.earliest_timer >= before:
            return []
        entries = self._store.scan(_TIMER, _timer(before, b""), limit)
        timers = [_read_timer(at, value) for at, value in entries]
        self.earliest_timer = timers[0].time if timers else self._first_timer()
        return timers

    def remove_timer(self, timer: Timer) -> None:
        """Remove a timer that fires."""
        self._store.delete(_timer(timer.time, timer.key))

    def pop_timers(self, watermark: int) -> Iterator[tuple[int, Any]]:
        """Remove the timers up to the watermark; yield their times and keys, the earliest first."""
        for at, key in list(self._store.scan(_TIMER, _timer(watermark, b"\xff" * 512))):
            self._store.delete(at)
            yield _time_of(at), _decode(key)
        self.earliest_timer = self._first_timer()

    def stored_values(self) -> Iterator[tuple[bytes, object]]:
        """Iterate over the encoded keys that have a value, and their values."""
        return ((at[len(_VALUE) :], _decode(data)) for at, data in scan_pages(self._store, _VALUE, _AFTER_VALUES))

    def stored_timers(self) -> Iterator[tuple[int, Any]]:
        """Iterate over the times of all timers, the earliest first, and their keys."""
        return ((_time_of(at), _decode(key)) for at, key in scan_pages(self._store, _TIMER, _AFTER_TIMERS))

    def _at(self, key: object) -> bytes:
        try:
            return self._keys[_unified(key)]
        except (KeyError, TypeError):
            raise UserFunctionFailed(
                f"asks for key {key!r}, which is not among those of its rows: the state of a key is where its rows are"
            ) from None

    def _first_timer(self) -> int:
        for at, _ in self._store.scan(_TIMER, _VALUE):
            return _time_of(at)
        return _EARLIEST


def _unified(key: object) -> object:
    return tuple(map(unify_float, key)) if isinstance(key, tuple) else unify_float(key)


def _timer(time: int, key: bytes) -> bytes:
    return _TIMER + (time + _EARLIEST).to_bytes(_TIME_BYTES, "big") + key


def _read_timer(at: bytes, encoded: bytes) -> Timer:
    return Timer(_time_of(at), _key_of(at), encoded)


def _key_of(at: bytes) -> bytes:
    return at[len(_TIMER) + _TIME_BYTES :]


def _time_of(at: bytes) -> int:
    return int.from_bytes(at[len(_TIMER) : len(_TIMER) + _TIME_BYTES], "big") - _EARLIEST
