"""Servers that are no Kafka brokers: they accept connections, and answer nothing, garbage, or far too much."""

import socket
import struct
import threading
from contextlib import suppress

GARBAGE = bytes(range(256)) * 4096
TWO_GIGABYTES = struct.pack(">i", 2**31 - 1)


def _keep_silent(connection):
    while connection.recv(65536):
        continue


def _answer_garbage(connection):
    while connection.recv(65536):
        connection.sendall(GARBAGE)


def _answer_without_end(connection):
    """Announce an answer of two gigabytes to the first request, and send zeros until the client has enough."""
    request = connection.recv(65536)
    connection.sendall(TWO_GIGABYTES + request[8:12])
    while True:
        connection.sendall(bytes(1 << 20))


BEHAVIOURS = {"silent": _keep_silent, "garbage": _answer_garbage, "endless": _answer_without_end}


class HostileBroker:
    """A server on this machine that behaves in one of these ways to all its clients."""

    def __init__(self, behaviour):
        self._behave = BEHAVIOURS[behaviour]
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.close()

    def _accept(self):
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with suppress(OSError), connection:
            self._behave(connection)
