"""/healthz and /metrics of the process."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

Health = Callable[[], str | None]
"""Tells what is wrong with the process; None: it makes progress."""


class HttpServer:
    """Answers until closed."""

    def __init__(self, port: int, health: Health, registry: CollectorRegistry) -> None:
        """Listen on a port of all interfaces; 0 is a free one.

        Raises:
            OSError: the port is in use.
        """
        self._server = ThreadingHTTPServer(("", port), _handler(health, registry))
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="http", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def _handler(health: Health, registry: CollectorRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/healthz":
                wrong = health()
                self._answer(503 if wrong else 200, (wrong or "ok").encode(), "text/plain")
            elif self.path == "/metrics":
                self._answer(200, generate_latest(registry), CONTENT_TYPE_LATEST)
            else:
                self._answer(404, b"/healthz or /metrics", "text/plain")

        def _answer(self, status: int, body: bytes, content_type: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Keep quiet: probes are no news."""

    return Handler
