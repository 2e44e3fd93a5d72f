"""The driver's program: `python -m streamapp_runtime.kubernetes`, in the pod that the Kubernetes operator made."""

import os
import signal
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
import structlog
from prometheus_client import CollectorRegistry

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.deployment.app_record import EpochOutdatedError
from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.metadata_store import MetadataStore
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.takeover import finish
from streamapp_runtime.errors import FAILURES, Superseded
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.driver_metrics import SummaryCollector
from streamapp_runtime.kubernetes.driver_pages import Health, serve_pages
from streamapp_runtime.kubernetes.epoch_start import begin
from streamapp_runtime.kubernetes.job_model_follower import Follower, prepared_run
from streamapp_runtime.kubernetes.progress_reporter import Reporter
from streamapp_runtime.kubernetes.run_epoch import LaunchedRun
from streamapp_runtime.spark.driver_environment import DriverEnvironment, read_environment
from streamapp_runtime.spark.kubernetes_host import KubernetesHost
from streamapp_systems.clock import now
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, KubernetesError, Object
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore

_FAILED_EXIT_CODE = 1
_WAIT_SECONDS = 0.5
_FOLDER = Path(names.APP_FOLDER)
_LAST_WORDS = Path("/dev/termination-log")
"""What is written there is told as the reason of the pod's end, in place of the end of its log."""

_log = structlog.get_logger("streamapp.driver")


def main() -> int:
    """Be the driver of one epoch, and tell how it ended."""
    structlog.configure(processors=[structlog.processors.TimeStamper("iso"), structlog.processors.JSONRenderer()])
    draining = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: draining.set())
    try:
        environment = read_environment(os.environ)
        with ExitStack() as handles:
            api = KubernetesClient()
            handles.callback(api.close)
            return _drive(environment, api, draining, handles)
    except (EpochOutdatedError, Superseded) as outdated:
        _log.warning("outdated", reason=str(outdated))
        return names.OUTDATED_EXIT_CODE
    except (*FAILURES, KubernetesError) as failure:
        _log.error("failed", reason=str(failure))
        with suppress(OSError):
            _LAST_WORDS.write_text(str(failure))
        return _FAILED_EXIT_CODE


def _drive(environment: DriverEnvironment, api: KubernetesApi, draining: threading.Event, handles: ExitStack) -> int:
    health = Health(time.monotonic)
    registry = CollectorRegistry()
    registry.register(SummaryCollector(environment.app, environment.namespace, lambda: health.summary))
    handles.callback(serve_pages(health, registry, names.HTTP_PORT).close)
    owner = _owner(api, environment)
    store = ConfigMapMetadataStore(api, environment.namespace, environment.app, owners=[owner])
    lease = DriverLease(api, environment, owner, now)
    follower = Follower(store, environment.epoch)
    reporter = Reporter(store, follower.launched().launch.run_id, environment.epoch, now)
    try:
        completed = _run(
            environment,
            store,
            follower=follower,
            reporter=reporter,
            lease=lease,
            health=health,
            draining=draining,
            handles=handles,
        )
    except (EpochOutdatedError, Superseded):
        raise
    except FAILURES as failure:
        reporter.phase(DriverPhase.FAILED, str(failure))
        raise
    reporter.phase(DriverPhase.COMPLETED if completed else DriverPhase.DRAINED)
    return names.STOPPED_EXIT_CODE


def _run(
    environment: DriverEnvironment,
    store: MetadataStore,
    *,
    follower: Follower,
    reporter: Reporter,
    lease: DriverLease,
    health: Health,
    draining: threading.Event,
    handles: ExitStack,
) -> bool:
    """Run what was launched, and tell whether it has come to its end; if not, it was stopped."""
    model = _first_model(follower, health, draining)
    if model is None:
        return False
    launched = follower.launched()
    reporter.phase(DriverPhase.STARTING)
    prepared = prepared_run(launched, model)
    record = begin(launched, prepared, store, _FOLDER)
    board = ReportRegistry(time.monotonic)
    launch = launched.launch
    host = KubernetesHost(board, prepared.plan.app, environment, launch.processors, launch.executor_template)
    handles.callback(host.close)
    run = LaunchedRun(
        launched,
        prepared,
        record,
        follower=follower,
        folder=_FOLDER,
        board=board,
        host=host,
        reporter=reporter,
        lease=lease,
        health=health,
        warn=_log.warning,
    )
    summary = run.to_the_end(draining.is_set)
    if summary is None:
        return False
    finish(msgspec.structs.replace(record, summary=summary), run.prepared, store, _FOLDER)
    return True


def _owner(api: KubernetesApi, environment: DriverEnvironment) -> Object:
    """Give the reference to the app that owns this pod: it owns what the driver makes, too."""
    pod = api.get(Kind.POD, environment.namespace, environment.pod)
    references = [] if pod is None else pod["metadata"].get("ownerReferences", [])
    owner: Object = next(reference for reference in references if reference["kind"] == Kind.APP.kind)
    return owner


def _first_model(follower: Follower, health: Health, draining: threading.Event) -> JobModel | None:
    """Wait for the job model of this epoch, which is written right after the pod is made; None: stop instead."""
    while not draining.wait(_WAIT_SECONDS):
        follower.launched()
        health.turn(None, ready=False)
        model = follower.newer_model()
        if model is not None:
            return model
    return None


if __name__ == "__main__":
    sys.exit(main())
