"""The state of a `process` function: a value for each key, and timers in event time (docs/functions.md).

The writes of one call of the function count only if the call succeeds.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.rows.row_codec import encode_key
from streamapp_runtime.state.store import Store

_VALUE, _TIMER = b"v", b"t"
_TIME_BYTES, _EARLIEST = 8, 1 << 63
_LATEST = _EARLIEST - 1

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


class KeyedState:
    """Values and timers of the keys of a call: those of its rows, or of its timers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: Mapping[Any, bytes] = {}
        self._values: dict[bytes, bytes | None] = {}
        self._timers: dict[bytes, bytes | None] = {}
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
        self._timers[_timer(time, self._at(key))] = _encode(key)

    def delete_timer(self, key: object, time: int) -> None:
        """Delete a timer; nothing happens if there is none."""
        self._timers[_timer(time, self._at(key))] = None

    def begin_call(self, keys: Collection[Any]) -> None:
        """Start a call for these keys; writes of an earlier one that failed are dropped."""
        self._keys = {key: encode_key([key]) for key in keys}
        self._values, self._timers = {}, {}

    def end_call(self) -> None:
        """Write what a call that succeeded has written to the store."""
        for at, value in (*self._values.items(), *self._timers.items()):
            if value is None:
                self._store.delete(at)
            else:
                self._store.put(at, value)
        set_now = (_time_of(at) for at, value in self._timers.items() if value is not None)
        self.earliest_timer = min([self.earliest_timer, *set_now])
        self.begin_call(())

    def pop_timers(self, watermark: int) -> Iterator[tuple[int, Any]]:
        """Remove the timers up to the watermark; yield their times and keys, the earliest first."""
        for at, key in list(self._store.scan(_TIMER, _timer(watermark, b"\xff" * 512))):
            self._store.delete(at)
            yield _time_of(at), _decode(key)
        self.earliest_timer = self._first_timer()

    def _at(self, key: object) -> bytes:
        try:
            return self._keys[key]
        except (KeyError, TypeError):
            raise UserFunctionFailed(
                f"asks for key {key!r}, which is not among those of its rows: the state of a key is where its rows are"
            ) from None

    def _first_timer(self) -> int:
        for at, _ in self._store.scan(_TIMER, _VALUE):
            return _time_of(at)
        return _EARLIEST


def _timer(time: int, key: bytes) -> bytes:
    return _TIMER + (time + _EARLIEST).to_bytes(_TIME_BYTES, "big") + key


def _time_of(at: bytes) -> int:
    return int.from_bytes(at[len(_TIMER) : len(_TIMER) + _TIME_BYTES], "big") - _EARLIEST
