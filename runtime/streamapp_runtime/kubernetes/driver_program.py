"""The run of a driver: one epoch of an app, in the pod that the Kubernetes operator created."""

import os
import secrets
import signal
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.deployment.app_documents import DocumentUnreadableError
from streamapp_core.deployment.app_record import EpochOutdatedError, Launch
from streamapp_core.spec.app import StreamApp
from streamapp_runtime.errors import FAILURES, RuntimeFailure, Superseded
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.kubernetes.api_server_calls import ApiServerOutages
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth, serve_pages
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.driver_metrics import SummaryCollector
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower
from streamapp_runtime.kubernetes.launched_epoch import TIMEOUTS, LaunchedEpoch
from streamapp_runtime.kubernetes.outage_waits import OutageWaits
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.spark.completed_template import complete_template
from streamapp_runtime.spark.driver_environment import DriverEnvironment, read_environment
from streamapp_runtime.spark.driver_jvm import DriverJvm
from streamapp_runtime.spark.kubernetes_host import KubernetesHost
from streamapp_runtime.spark.run_secret import RunSecret, create_run_secret
from streamapp_systems.clock import now
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, KubernetesError, Object
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore

_FAILED_EXIT_CODE = 1
_BINDING_SECONDS = 30.0
"""Most executors are there by then; it is no harm to start processors whose executors are not."""
_START, _HOST_START = "the start of the driver", "the start of Spark"
_TERMINATION_LOG = Path("/dev/termination-log")
"""The kubelet shows what is written there as the reason of the pod's end, in place of the end of its log."""

_log = structlog.get_logger("streamapp.driver")


def run_driver(jvm: DriverJvm | None) -> int:
    """Run one epoch of an app, with Spark in a JVM (None: in one of its own), and return the exit code of its end."""
    structlog.configure(processors=[structlog.processors.TimeStamper("iso"), structlog.processors.JSONRenderer()])
    _log.info("begun")
    draining = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: draining.set())
    try:
        environment = read_environment(os.environ)
        with ExitStack() as handles:
            api = KubernetesClient()
            handles.callback(api.close)
            return _drive(environment, api, jvm, draining, handles)
    except (EpochOutdatedError, Superseded) as outdated:
        _log.warning("outdated", reason=str(outdated))
        return names.OUTDATED_EXIT_CODE
    except (*FAILURES, KubernetesError, DocumentUnreadableError) as failure:
        _log.error("failed", reason=str(failure))
        with suppress(OSError):
            _TERMINATION_LOG.write_text(str(failure))
        return _FAILED_EXIT_CODE


def _drive(
    environment: DriverEnvironment,
    api: KubernetesApi,
    jvm: DriverJvm | None,
    draining: threading.Event,
    handles: ExitStack,
) -> int:
    health = DriverHealth(time.monotonic)
    registry = CollectorRegistry()
    registry.register(SummaryCollector(environment.app, environment.namespace, lambda: health.summary))
    handles.callback(serve_pages(health, registry, names.HTTP_PORT).close)
    context = local_context(Path(names.APP_FOLDER))
    outages = ApiServerOutages(_log.warning, context.clock.monotonic)
    waits = OutageWaits(outages, health, context, TIMEOUTS)
    pod = waits.call(_START, lambda: _pod(api, environment))
    owner = _owner(pod)
    store = ConfigMapMetadataStore(api, environment.namespace, environment.app, owners=[owner])
    follower = JobModelFollower(store, environment.epoch)

    def make_reporter() -> ProgressReporter:
        return ProgressReporter(store, follower.read_launched().launch.run_id, environment.epoch, now)

    def make_host(channel: DriverChannel, app: StreamApp, launch: Launch) -> KubernetesHost:
        _log.info("Spark starts")
        secret = waits.call(_HOST_START, lambda: _create_secret(api, environment, pod))
        owner = pod if app.spec.processors.state.volume_claim is None else None  # Spark gives claims an owner, and pods
        host = KubernetesHost(
            channel,
            app,
            environment,
            processors=launch.processors,
            template=complete_template(launch.executor_template, owner, secret.reference),
            secret=secret,
            jvm=jvm,
            draining=draining,
        )
        _log.info("Spark has started")
        return host

    launched = LaunchedEpoch(
        store=store,
        follower=follower,
        reporter=waits.call(_START, make_reporter),
        lease=DriverLease(api, environment, owner, now),
        health=health,
        make_host=make_host,
        context=context,
        state_folder=Path(names.STATE_FOLDER),
        draining=draining,
        handles=handles,
        outages=outages,
        waits=waits,
        binding_seconds=_BINDING_SECONDS,
    )
    launched.run()
    return names.STOPPED_EXIT_CODE


def _owner(pod: Object) -> Object:
    """Return the reference to the app that owns this pod: it owns what the driver creates, too."""
    references = pod["metadata"].get("ownerReferences", [])
    owner: Object = next(reference for reference in references if reference["kind"] == Kind.APP.kind)
    return owner


def _create_secret(api: KubernetesApi, environment: DriverEnvironment, pod: Object) -> RunSecret:
    return create_run_secret(api, environment, pod, suffix=secrets.token_hex(5), value=secrets.token_urlsafe(48))


def _pod(api: KubernetesApi, environment: DriverEnvironment) -> Object:
    """Return this pod.

    Raises:
        RuntimeFailure: it has been removed.
    """
    pod = api.get(Kind.POD, environment.namespace, environment.pod)
    if pod is None:
        raise RuntimeFailure(f"pod {environment.pod} has been removed while it starts")
    return pod
