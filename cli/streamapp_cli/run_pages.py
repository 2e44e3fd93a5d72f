"""The pages of an app that runs on this machine: the metrics and the status that a driver on Kubernetes has."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry

from streamapp_cli.app_files import exit_with_error
from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth, serve_pages
from streamapp_runtime.kubernetes.driver_metrics import SummaryCollector


@contextmanager
def serve_run(
    app: str, namespace: str, port: int, told: Callable[[str], object]
) -> Iterator[Callable[[Summary], object]]:
    """Serve the pages of an app to this machine alone (port 0: a free one), and yield what takes its progress.

    `told` is given their address. Ends the program if the port is in use.
    """
    health = DriverHealth(time.monotonic)
    registry = CollectorRegistry()
    registry.register(SummaryCollector(app, namespace, lambda: health.summary))
    try:
        server = serve_pages(health, registry, port, "127.0.0.1")
    except OSError as error:
        exit_with_error(f"--http-port {port}: {error.strerror}. Name another port, or 0 for a free one")
    with server:
        told(f"http://{server.host}:{server.port}")
        yield lambda summary: health.turn(summary, ready=True)
