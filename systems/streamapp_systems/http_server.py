"""A small HTTP server: threads that answer requests by a function, until it is closed; with TLS if it is given."""

import socket
import ssl
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

_WAITING_CONNECTIONS = 1_024
"""Connections that may wait; beyond these a client's system tries again only after a second, then after three."""
_SILENT_SECONDS = 30.0
"""Seconds after which the connection of a client that says nothing is closed."""
_LONGEST_LENGTH = 18
"""Digits of the largest length of a body that is a number here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to a `host`, as its client names it; its body, of `length` bytes, is read on demand."""

    method: str
    host: str
    path: str
    authorization: str
    length: int
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Response:
    """An answer."""

    status: int
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"


_Connection = socket.socket | tuple[bytes, socket.socket]


class HttpServer:
    """Answers each request with what `answer` returns, which any thread may call."""

    def __init__(
        self,
        answer: Callable[[Request], Response],
        listen: tuple[str, int],
        *,
        name: str,
        tls: ssl.SSLContext | None = None,
        most_connections: int | None = None,
    ) -> None:
        """Listen on an address ("" is all of them) and a port (0 is a free one); `name` is that of its thread.

        With `tls`, the server's side of it, requests are HTTPS. Connections above `most_connections` are closed.

        Raises:
            OSError: the port is in use.
        """
        self._server = _Server(listen, _handler(answer), most_connections)
        if tls is not None:
            # The handshake is the connection's thread's: a client that does not take part holds nobody up.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        host, port = self._server.server_address[:2]
        self.host, self.port = str(host), int(port)
        self._thread = threading.Thread(target=self._server.serve_forever, name=name, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = _WAITING_CONNECTIONS

    def __init__(
        self, listen: tuple[str, int], handler: type[BaseHTTPRequestHandler], most_connections: int | None
    ) -> None:
        super().__init__(listen, handler)
        self._free = None if most_connections is None else threading.BoundedSemaphore(most_connections)

    def process_request(self, request: _Connection, client_address: object) -> None:
        """Answer a connection in a thread of its own, or close it at once if there are too many."""
        if self._free is not None and not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: _Connection, client_address: object) -> None:
        """Answer a connection, and let another one in."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            if self._free is not None:
                self._free.release()

    def handle_error(self, request: _Connection, client_address: object) -> None:
        """Ignore connections that break off, or are no TLS: anybody may cause them."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _handler(answer: Callable[[Request], Response]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _SILENT_SECONDS

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            said = self.headers.get("Content-Length", "0")
            if not (said.isascii() and said.isdigit() and len(said) <= _LONGEST_LENGTH):
                self.send_error(400, "Content-Length is no number")
                return
            length = int(said)
            response = answer(
                Request(
                    method=method,
                    host=self.headers.get("Host", ""),
                    path=self.path,
                    authorization=self.headers.get("Authorization", ""),
                    length=length,
                    read=lambda: self.rfile.read(length),
                )
            )
            self.send_response(response.status)
            self.send_header("Content-Type", response.content_type)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Log nothing: probes and reports come all the time."""

    return Handler
