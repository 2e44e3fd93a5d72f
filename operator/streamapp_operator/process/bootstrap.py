"""The process, put together: the one place that knows all parts, the clock and the randomness."""

import base64
import os
import signal
import threading
import time
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

import kopf
import structlog

from streamapp_operator.act.actor import Actor
from streamapp_operator.decide.actions import ActionKind
from streamapp_operator.decide.reconciliation import Rules
from streamapp_operator.decide.validation import CachingPlanner, plan_app
from streamapp_operator.observe.brokers import Systems
from streamapp_operator.observe.informer import Informer, register
from streamapp_operator.observe.object_cache import CachedApi, ObjectCache
from streamapp_operator.observe.observed_state import DriverRole
from streamapp_operator.observe.observer import Observer
from streamapp_operator.observe.resource_views import AppKey
from streamapp_operator.process.controller import Controller, Parts
from streamapp_operator.process.health import Health
from streamapp_operator.process.operator_metrics import Metrics
from streamapp_operator.process.operator_pages import serve_pages
from streamapp_operator.process.settings import Settings
from streamapp_systems.clock import now
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, KubernetesError, RequestRefusedError
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.run_ids import new_run_id

_log = structlog.get_logger()
_STOP_SECONDS = 20.0
_WATCH_SECONDS = 600
_PAGE = 500


class OperatorProcess:
    """One Kubernetes operator."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._api = KubernetesClient(connections=settings.workers + 8)
        self._cache = ObjectCache()
        self._metrics = Metrics()
        self._systems = Systems(self._read_secret, self._enqueue, settle=settings.growth_settle)
        cached = CachedApi(self._api, self._cache)
        rules = Rules(
            planner=CachingPlanner(partial(plan_app, algorithms=installed_algorithm)),
            driver_role=DriverRole(kind=settings.driver_role_kind, name=settings.driver_role),
            executor_timeout=timedelta(seconds=settings.executor_patience),
        )
        self._controller = Controller(
            Parts(
                observer=Observer(cached, self._cache, self._systems.ask, self._systems.announced, new_run_id),
                actor=Actor(cached, self._systems.delete, now, self._after),
                rules=rules,
                clock=now,
                forget=self._systems.forget,
                metrics=self._metrics,
            )
        )
        self._watching = Informer(self._api, self._cache, self._enqueue, settings.watched_namespaces)
        self._health = Health(
            self._watching,
            self._metrics,
            self._controller.lag,
            interval=settings.resync_interval,
            clock=time.monotonic,
        )
        self._metrics.count_phases(self._phases)

    def run(self) -> None:
        """Run until a signal says stop.

        Raises:
            KubernetesError: the API server can't be asked at the start.
            OSError: the HTTP port is in use.
        """
        http = serve_pages(self._settings.http_port, self._health.wrong, self._metrics.registry)
        _log.info("listing all apps", port=http.port)
        self._watching.fill()
        self._controller.start(self._settings.workers)
        threading.Thread(target=self._health.run, name="health", daemon=True).start()
        try:
            self._watch()
        finally:
            self._health.stop()
            self._controller.stop(_STOP_SECONDS)
            self._systems.close()
            http.close()
            self._api.close()

    def _watch(self) -> None:
        """Let kopf watch until SIGTERM or SIGINT."""
        registry = kopf.OperatorRegistry()
        kopf.on.login(registry=registry, id="login")(kopf.login_via_client)
        settings = kopf.OperatorSettings()
        settings.watching.server_timeout = _WATCH_SECONDS
        settings.watching.chunk_size = _PAGE
        settings.networking.request_timeout = 30
        settings.networking.connect_timeout = 5
        settings.scanning.disabled = True
        settings.posting.enabled = False
        settings.peering.standalone = True
        register(registry, settings, self._watching)
        namespaces = self._settings.watched_namespaces
        kopf.run(
            registry=registry, settings=settings, standalone=True, clusterwide=not namespaces, namespaces=namespaces
        )

    def _enqueue(self, key: AppKey) -> None:
        self._controller.enqueue(key)

    def _after(self, action: ActionKind) -> None:
        if action == self._settings.exit_after:
            os.kill(os.getpid(), signal.SIGKILL)

    def _phases(self) -> list[str]:
        return [item.get("status", {}).get("phase", "Pending") for item in self._cache.everything(Kind.APP)]

    def _read_secret(self, namespace: str, name: str) -> Mapping[str, str]:
        return read_secret(self._api, namespace, name)


def read_secret(api: KubernetesApi, namespace: str, name: str) -> Mapping[str, str]:
    """Read a Secret's items as text; none if it is not there.

    Raises:
        StreamSystemError: the operator may not read it, or the API server can't be asked.
    """
    try:
        secret = api.get(Kind.SECRET, namespace, name)
    except KubernetesError as error:
        refused = isinstance(error, RequestRefusedError)
        advice = ". Let the operator read it: rbac.secrets in the chart's values" if refused else ""
        raise StreamSystemError(f"Secret {name} in namespace {namespace} can't be read: {error}{advice}") from error
    items = {} if secret is None else secret.get("data", {})
    return {key: base64.b64decode(value).decode() for key, value in items.items()}
