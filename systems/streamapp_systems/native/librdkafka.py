"""The library behind Python's Kafka client, as this process has loaded it: its functions, and the handles of clients.

Clients stay their owner's: a handle is good for as long as its client is open, and by the thread that uses the client.
"""

import ctypes
from functools import cache

import confluent_kafka
from confluent_kafka import Consumer, Producer, cimpl

_KNOWN = frozenset({"2.16.1"})
"""Releases of the client whose objects are known to begin with the library's handle, behind what every object has."""


@cache
def librdkafka() -> ctypes.CDLL | None:
    """Return the library's functions; None where the client is of a release that is not known."""
    if str(confluent_kafka.version()) not in _KNOWN:
        return None
    functions = ctypes.CDLL(cimpl.__file__)  # what it is linked with is found through it
    functions.rd_kafka_name.argtypes = [ctypes.c_void_p]
    functions.rd_kafka_name.restype = ctypes.c_char_p
    return functions


def handle_of(client: Producer | Consumer) -> int | None:
    """Return the library's handle of a client; None where it is not known, or the client is closed."""
    functions = librdkafka()
    if functions is None:
        return None
    handle = ctypes.c_void_p.from_address(id(client) + object.__basicsize__).value
    kind = b"#producer-" if isinstance(client, Producer) else b"#consumer-"
    return handle if handle is not None and kind in functions.rd_kafka_name(handle) else None
