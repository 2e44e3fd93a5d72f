"""The driver's own pages: /healthz and /ready for the kubelet, /metrics for Prometheus, /status for people."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from streamapp_runtime.driver.run_record import Summary

_ALIVE_SECONDS = 60.0
"""The driver's loop turns several times a second; one that has not for so long is stuck."""


@dataclass(slots=True)
class Health:
    """What the pages tell; the driver's loop writes it."""

    clock: Callable[[], float]
    turned: float = field(init=False)
    ready: bool = False
    summary: Summary | None = None

    def __post_init__(self) -> None:
        self.turned = self.clock()

    def turn(self, summary: Summary | None, *, ready: bool) -> None:
        """Note that the driver's loop is alive, and how far the app is."""
        self.turned, self.ready = self.clock(), ready
        if summary is not None:
            self.summary = summary

    @property
    def alive(self) -> bool:
        """Whether the driver's loop turns."""
        return self.clock() - self.turned < _ALIVE_SECONDS


class StatusServer:
    """Answers until closed."""

    def __init__(self, health: Health, registry: CollectorRegistry, port: int) -> None:
        """Listen on a port of all addresses (0: a free one)."""
        self._server = ThreadingHTTPServer(("", port), _handler(health, registry))
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="status", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(health: Health, registry: CollectorRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path:
                case "/healthz":
                    self._answer(200 if health.alive else 503, b"ok\n" if health.alive else b"the loop is stuck\n")
                case "/ready":
                    self._answer(200 if health.ready else 503, b"ready\n" if health.ready else b"not ready\n")
                case "/metrics":
                    self._answer(200, generate_latest(registry), "text/plain; version=0.0.4; charset=utf-8")
                case "/status":
                    self._answer(200, msgspec.json.encode(health.summary), "application/json")
                case _:
                    self._answer(404, b"/healthz, /ready, /metrics, /status\n")

        def _answer(self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Keep quiet: probes come every second."""

    return Handler
