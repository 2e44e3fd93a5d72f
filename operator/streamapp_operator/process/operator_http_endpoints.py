"""The HTTP pages of the Kubernetes operator: /healthz for the kubelet, /metrics for Prometheus."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from streamapp_systems.http_server import HttpServer, Request, Response

HealthCheck = Callable[[], str | None]
"""Returns why the process makes no progress; None: it does."""


def serve_pages(port: int, check: HealthCheck, registry: CollectorRegistry) -> HttpServer:
    """Answer on a port of all interfaces (0: a free one) until closed.

    Raises:
        OSError: the port is in use.
    """

    def answer(request: Request) -> Response:
        match request.method, request.path:
            case "GET", "/healthz":
                failure = check()
                return Response(503 if failure else 200, (failure or "ok").encode())
            case "GET", "/metrics":
                return Response(200, generate_latest(registry), CONTENT_TYPE_LATEST)
            case _:
                return Response(404, b"/healthz or /metrics")

    return HttpServer(answer, ("", port), name="http")
