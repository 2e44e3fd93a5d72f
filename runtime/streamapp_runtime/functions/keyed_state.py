"""What a `process` function remembers: a value for each key, and timers in event time (`docs/functions.md`).

What one call of the function writes counts only if the call succeeds.
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
    """Values and timers of the keys that a call is about: those of its rows, or of its timers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: Mapping[Any, bytes] = {}
        self._values: dict[bytes, bytes | None] = {}
        self._timers: dict[bytes, bytes | None] = {}
        self.earliest_timer = self._first_timer()
        """No timer is earlier (milliseconds)."""

    def get(self, key: object) -> Any:  # noqa: ANN401 - whatever the user has put there
        """Look up what is remembered of a key, None if nothing: a copy, which may be changed and put back."""
        at = _VALUE + self._at(key)
        data = self._values[at] if at in self._values else self._store.get(at)
        return None if data is None else _decode(data)

    def put(self, key: object, value: object) -> None:
        """Remember a value: numbers, texts, bytes, moments, None, and lists and dictionaries of these.

        Raises:
            UserFunctionFailed: it is something else.
        """
        at = _VALUE + self._at(key)
        try:
            self._values[at] = _encode(value)
        except (TypeError, OverflowError, ValueError) as error:
            raise UserFunctionFailed(f"can't remember this value of key {key!r}: {error}") from None

    def delete(self, key: object) -> None:
        """Forget a key."""
        self._values[_VALUE + self._at(key)] = None

    def set_timer(self, key: object, time: int) -> None:
        """Ask for a call of `on_timers` when no row before a time (milliseconds) is expected any more.

        A key has one timer for a time, however often it is set.
        """
        if not -_EARLIEST <= time <= _LATEST:
            raise UserFunctionFailed(f"sets a timer for {time}, which is no time in milliseconds")
        self._timers[_timer(time, self._at(key))] = _encode(key)

    def delete_timer(self, key: object, time: int) -> None:
        """Take a timer back; nothing happens if there is none."""
        self._timers[_timer(time, self._at(key))] = None

    def about(self, keys: Collection[Any]) -> None:
        """Begin a call about these keys; what an earlier one wrote and was not kept is forgotten."""
        self._keys = {key: encode_key([key]) for key in keys}
        self._values, self._timers = {}, {}

    def keep(self) -> None:
        """End a call that succeeded: what it wrote goes to the store."""
        for at, value in (*self._values.items(), *self._timers.items()):
            if value is None:
                self._store.delete(at)
            else:
                self._store.put(at, value)
        set_now = (_time_of(at) for at, value in self._timers.items() if value is not None)
        self.earliest_timer = min([self.earliest_timer, *set_now])
        self.about(())

    def take_timers(self, watermark: int) -> Iterator[tuple[int, Any]]:
        """Remove the timers up to the watermark and give their times and keys, the earliest first."""
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
