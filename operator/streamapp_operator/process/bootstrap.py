"""The Kubernetes operator, assembled: the one place that knows all its parts, the clock and the randomness."""

import base64
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import kopf
import structlog

from streamapp_core.spec.systems import SystemSpec
from streamapp_operator.act.actor import Actor
from streamapp_operator.act.delete_topics import delete_topics
from streamapp_operator.decide.actions import ActionKind
from streamapp_operator.decide.admission import AdmissionVerdict, judge_admission
from streamapp_operator.decide.reconciliation import DecisionContext
from streamapp_operator.decide.validation import CachingPlanner, plan_app
from streamapp_operator.observe.admission_reviews import AdmissionRequest
from streamapp_operator.observe.app_defaults import complete_app
from streamapp_operator.observe.app_text import read_app
from streamapp_operator.observe.broker_processes import BrokerProcesses
from streamapp_operator.observe.brokers import Brokers
from streamapp_operator.observe.informer import Informer, register_watches
from streamapp_operator.observe.object_cache import CachedApi, ObjectCache
from streamapp_operator.observe.observed_state import DriverRole
from streamapp_operator.observe.observer import Observer
from streamapp_operator.observe.resource_views import AppKey
from streamapp_operator.observe.resync_loop import ResyncLoop
from streamapp_operator.process.admission_webhook import serve_webhook
from streamapp_operator.process.controller import Controller, ControllerDependencies
from streamapp_operator.process.health import OperatorHealth
from streamapp_operator.process.leader_election import LONGEST_REQUEST_SECONDS, LeaderElection
from streamapp_operator.process.leader_writes import LeaderWrites
from streamapp_operator.process.leadership import Leadership
from streamapp_operator.process.operator_http_endpoints import serve_pages
from streamapp_operator.process.operator_metrics import OperatorMetrics
from streamapp_operator.process.settings import Settings
from streamapp_operator.process.webhook_certificate import (
    MountedCertificate,
    OwnCertificate,
    WebhookCertificate,
    keep_fresh,
)
from streamapp_systems.clock import now
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, KubernetesError, RequestRefusedError
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.run_ids import new_run_id

_log = structlog.get_logger()
_STOP_TIMEOUT = 20.0
_JUDGED_CHARACTERS = 1_000_000
"""Of the specs whose verdicts are kept for API servers that ask again."""
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
        self._namespaces = settings.namespace_selection
        self._metrics = OperatorMetrics()
        self._processes = BrokerProcesses()
        self._brokers = Brokers(
            self._processes.ask, self._read_secret, self._enqueue, debounce=settings.partition_count_debounce
        )
        election = None
        if settings.lease_namespace:
            election = LeaderElection(
                KubernetesClient(connections=1, longest_request=LONGEST_REQUEST_SECONDS),
                (settings.lease_namespace, settings.lease_name),
                settings.lease_identity or f"{socket.gethostname()}-{new_run_id()}",
                time.monotonic,
                now,
            )
        self._leadership = Leadership(election, self._metrics.leader.set)
        cached = CachedApi(LeaderWrites(self._api, self._leadership.check), self._cache)
        planner = partial(plan_app, algorithms=installed_algorithm, policy=settings.pod_policy)
        context = DecisionContext(
            planner=CachingPlanner(planner),
            driver_role=DriverRole(kind=settings.driver_role_kind, name=settings.driver_role),
            executor_timeout=timedelta(seconds=settings.executor_timeout),
            network=settings.app_network,
        )
        self._planner = CachingPlanner(planner, maximum=_JUDGED_CHARACTERS)
        self._observer = Observer(
            cached,
            self._cache,
            self._brokers.read_counts,
            self._brokers.read_job_model_backup,
            new_run_id,
            defaults=settings.app_defaults,
            namespaces=self._namespaces,
        )
        self._controller = Controller(
            ControllerDependencies(
                observer=self._observer,
                actor=Actor(cached, self._delete_topics, now, self._exit_if_wanted),
                context=context,
                clock=now,
                forget=self._brokers.forget,
                metrics=self._metrics,
                workers=settings.workers,
            )
        )
        self._informer = Informer(self._api, self._cache, self._enqueue, self._namespaces)
        self._resyncs = ResyncLoop(
            self._informer,
            self._metrics.missed_objects.inc,
            interval=settings.resync_interval,
            clock=time.monotonic,
        )
        self._health = OperatorHealth(self._resyncs, self._controller.measure_stall)
        self._metrics.register_phases(self._list_phases)

    def run(self) -> None:
        """Run until a signal says stop.

        Raises:
            KubernetesError: the API server can't be reached at the start.
            OSError: the HTTP port is in use.
            SystemExit: it may not act any more, as another operator does.
        """
        with ExitStack() as parts:
            parts.callback(self._api.close)
            http = serve_pages(self._settings.http_port, self._health.find_failure, self._metrics.registry)
            parts.callback(http.close)
            _log.info("listing all apps", port=http.port)
            self._informer.list_all()
            parts.callback(self._brokers.close)
            stop = partial(self._controller.stop, _STOP_TIMEOUT)
            parts.enter_context(self._leadership.acting(self._controller.start, stop))
            threading.Thread(target=self._resyncs.run, name="resync", daemon=True).start()
            parts.callback(self._resyncs.stop)
            if self._settings.webhook_host:
                parts.enter_context(self._serve_webhook())
            self._watch()
        if self._leadership.failed:
            raise SystemExit(1)

    @contextmanager
    def _serve_webhook(self) -> Iterator[None]:
        """Judge apps for API servers, which learn of the certificate."""
        settings = self._settings
        certificate: WebhookCertificate = (
            MountedCertificate(Path(settings.webhook_certificate))
            if settings.webhook_certificate
            else OwnCertificate(self._api, settings.webhook_configuration, settings.webhook_host)
        )
        stopped = threading.Event()
        with serve_webhook(settings.webhook_port, certificate.context, self._judge):
            refresh = partial(keep_fresh, certificate, stopped)
            threading.Thread(target=refresh, name="webhook-certificate", daemon=True).start()
            try:
                yield
            finally:
                stopped.set()

    def _judge(self, request: AdmissionRequest) -> AdmissionVerdict:
        """Judge an app by what is known of it, its streams and its run."""
        documents = None if request.before is None else self._observer.read_documents(request.app)
        record = None if documents is None else documents.record
        request = replace(request, app=complete_app(request.app, record, self._settings.app_defaults))
        parsed = read_app(request.app.text).app
        counts = {} if parsed is None else self._brokers.known_counts(request.app.key.namespace, parsed)
        return judge_admission(request, documents, counts, self._planner)

    def _delete_topics(self, namespace: str, prefix: str, systems: Mapping[str, SystemSpec]) -> None:
        """Delete an app's topics, as the leader alone may: a later app may have topics of the same names."""
        self._leadership.check()
        delete_topics(self._processes.ask, self._read_secret, namespace, prefix, systems)

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
        register_watches(registry, settings, self._informer, self._namespaces.selector)
        namespaces = self._namespaces.names
        kopf.run(
            registry=registry, settings=settings, standalone=True, clusterwide=not namespaces, namespaces=namespaces
        )

    def _enqueue(self, key: AppKey) -> None:
        self._controller.enqueue(key)

    def _exit_if_wanted(self, action: ActionKind) -> None:
        if action == self._settings.exit_after:
            os.kill(os.getpid(), signal.SIGKILL)

    def _list_phases(self) -> list[str]:
        return [
            item.get("status", {}).get("phase", "Pending")
            for item in self._cache.list_kind(Kind.APP)
            if self._namespaces.includes(item["metadata"]["namespace"])
        ]

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
