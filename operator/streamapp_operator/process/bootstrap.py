"""The Kubernetes operator, assembled: the one place that knows all its parts, the clock and the randomness."""

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
from streamapp_operator.act.delete_topics import delete_topics
from streamapp_operator.decide.actions import ActionKind
from streamapp_operator.decide.reconciliation import DecisionContext
from streamapp_operator.decide.validation import CachingPlanner, plan_app
from streamapp_operator.observe.broker_processes import BrokerProcesses
from streamapp_operator.observe.brokers import Brokers
from streamapp_operator.observe.informer import Informer, register_watches
from streamapp_operator.observe.object_cache import CachedApi, ObjectCache
from streamapp_operator.observe.observed_state import DriverRole
from streamapp_operator.observe.observer import Observer
from streamapp_operator.observe.resource_views import AppKey
from streamapp_operator.observe.resync_loop import ResyncLoop
from streamapp_operator.process.controller import Controller, ControllerDependencies
from streamapp_operator.process.health import OperatorHealth
from streamapp_operator.process.operator_http_endpoints import serve_pages
from streamapp_operator.process.operator_metrics import OperatorMetrics
from streamapp_operator.process.settings import Settings
from streamapp_systems.clock import now
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, KubernetesError, RequestRefusedError
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.run_ids import new_run_id

_log = structlog.get_logger()
_STOP_TIMEOUT = 20.0
_WATCH_SECONDS = 600
_LIST_PAGE = 500
_SPARE_CONNECTIONS = 8
"""For the informer, the brokers' threads and the resync loop, besides one connection per worker."""


class KubernetesOperator:
    """One Kubernetes operator, with all its threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._api = KubernetesClient(connections=settings.workers + _SPARE_CONNECTIONS)
        self._cache = ObjectCache()
        self._metrics = OperatorMetrics()
        processes = BrokerProcesses()
        self._brokers = Brokers(
            processes.ask, self._read_secret, self._enqueue, debounce=settings.partition_count_debounce
        )
        cached = CachedApi(self._api, self._cache)
        context = DecisionContext(
            planner=CachingPlanner(partial(plan_app, algorithms=installed_algorithm)),
            driver_role=DriverRole(kind=settings.driver_role_kind, name=settings.driver_role),
            executor_timeout=timedelta(seconds=settings.executor_timeout),
            network=settings.app_network,
        )
        self._controller = Controller(
            ControllerDependencies(
                observer=Observer(
                    cached, self._cache, self._brokers.read_counts, self._brokers.read_job_model_backup, new_run_id
                ),
                actor=Actor(
                    cached, partial(delete_topics, processes.ask, self._read_secret), now, self._exit_if_wanted
                ),
                context=context,
                clock=now,
                forget=self._brokers.forget,
                metrics=self._metrics,
                workers=settings.workers,
            )
        )
        self._informer = Informer(self._api, self._cache, self._enqueue, settings.watched_namespaces)
        self._resyncs = ResyncLoop(
            self._informer,
            self._metrics.missed_objects.inc,
            interval=settings.resync_interval,
            clock=time.monotonic,
        )
        self._health = OperatorHealth(self._resyncs, self._controller.measure_lag)
        self._metrics.register_phases(self._list_phases)

    def run(self) -> None:
        """Run until a signal says stop.

        Raises:
            KubernetesError: the API server can't be reached at the start.
            OSError: the HTTP port is in use.
        """
        http = serve_pages(self._settings.http_port, self._health.find_failure, self._metrics.registry)
        _log.info("listing all apps", port=http.port)
        self._informer.list_all()
        self._controller.start()
        threading.Thread(target=self._resyncs.run, name="resync", daemon=True).start()
        try:
            self._watch()
        finally:
            self._resyncs.stop()
            self._controller.stop(_STOP_TIMEOUT)
            self._brokers.close()
            http.close()
            self._api.close()

    def _watch(self) -> None:
        """Run kopf, which watches until SIGTERM or SIGINT."""
        registry = kopf.OperatorRegistry()
        kopf.on.login(registry=registry, id="login")(kopf.login_via_client)
        settings = kopf.OperatorSettings()
        settings.watching.server_timeout = _WATCH_SECONDS
        settings.watching.chunk_size = _LIST_PAGE
        settings.networking.request_timeout = 30
        settings.networking.connect_timeout = 5
        settings.scanning.disabled = True
        settings.posting.enabled = False
        settings.peering.standalone = True
        register_watches(registry, settings, self._informer)
        namespaces = self._settings.watched_namespaces
        kopf.run(
            registry=registry, settings=settings, standalone=True, clusterwide=not namespaces, namespaces=namespaces
        )

    def _enqueue(self, key: AppKey) -> None:
        self._controller.enqueue(key)

    def _exit_if_wanted(self, action: ActionKind) -> None:
        if action == self._settings.exit_after:
            os.kill(os.getpid(), signal.SIGKILL)

    def _list_phases(self) -> list[str]:
        return [item.get("status", {}).get("phase", "Pending") for item in self._cache.list_kind(Kind.APP)]

    def _read_secret(self, namespace: str, name: str) -> Mapping[str, bytes]:
        return read_secret(self._api, namespace, name)


def read_secret(api: KubernetesApi, namespace: str, name: str) -> Mapping[str, bytes]:
    """Read a Secret's items; none if it does not exist.

    Raises:
        StreamSystemError: the Kubernetes operator has no right to read it, or the API server can't be reached.
    """
    try:
        secret = api.get(Kind.SECRET, namespace, name)
    except KubernetesError as error:
        refused = isinstance(error, RequestRefusedError)
        advice = ". Let the operator read it: rbac.secrets in the chart's values" if refused else ""
        raise StreamSystemError(f"Secret {name} in namespace {namespace} can't be read: {error}{advice}") from error
    items = {} if secret is None else secret.get("data", {})
    return {key: base64.b64decode(value) for key, value in items.items()}
