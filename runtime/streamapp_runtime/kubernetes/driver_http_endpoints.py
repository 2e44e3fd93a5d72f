"""The driver's own pages: /healthz and /ready for the kubelet, /metrics for Prometheus, /status for people."""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from streamapp_runtime.driver.run_record import Summary
from streamapp_systems.http_server import HttpServer, Request, Response

_ALIVE_SECONDS = 60.0
"""The driver's loop turns several times a second; one that has not for so long is stuck."""


@dataclass(slots=True)
class DriverHealth:
    """The health of the driver as its pages show it; the driver's loop writes it."""

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


def serve_pages(health: DriverHealth, registry: CollectorRegistry, port: int, host: str = "") -> HttpServer:
    """Answer on a port (0: a free one) of the interface with this address, by default of all, until closed.

    Raises:
        OSError: the port is in use.
    """

    def answer(request: Request) -> Response:
        match request.method, request.path:
            case "GET", "/healthz":
                return Response(200, b"ok\n") if health.alive else Response(503, b"the loop is stuck\n")
            case "GET", "/ready":
                return Response(200, b"ready\n") if health.ready else Response(503, b"not ready\n")
            case "GET", "/metrics":
                return Response(200, generate_latest(registry), CONTENT_TYPE_LATEST)
            case "GET", "/status":
                return Response(200, msgspec.json.encode(health.summary), "application/json")
            case _:
                return Response(404, b"/healthz, /ready, /metrics, /status\n")

    return HttpServer(answer, (host, port), name="pages")
