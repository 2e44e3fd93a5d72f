"""The driver's program: `python -m streamapp_runtime.kubernetes`, in the pod that the Kubernetes operator created."""

import os
import signal
import sys
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import structlog
from prometheus_client import CollectorRegistry

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.deployment.app_record import EpochOutdatedError
from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.metadata_store import MetadataStore
from streamapp_core.naming import run_state_path
from streamapp_runtime.driver.driver_loop import DriverLoop, Epoch
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.run_authority import RunAuthority
from streamapp_runtime.driver.run_steps import complete_run
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import FAILURES, Superseded
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth, serve_pages
from streamapp_runtime.kubernetes.driver_lease import DriverLease
from streamapp_runtime.kubernetes.driver_loop_adapters import FollowedJobModels, KubernetesProgressListener
from streamapp_runtime.kubernetes.driver_metrics import SummaryCollector
from streamapp_runtime.kubernetes.epoch_start import start_epoch
from streamapp_runtime.kubernetes.job_model_follower import JobModelFollower, plan_launched
from streamapp_runtime.kubernetes.progress_reporter import ProgressReporter
from streamapp_runtime.spark.driver_environment import DriverEnvironment, read_environment
from streamapp_runtime.spark.kubernetes_host import KubernetesHost
from streamapp_systems.clock import now
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, KubernetesError, Object
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore

_FAILED_EXIT_CODE = 1
_WAIT_SECONDS = 0.5
_STOP_SECONDS = 15.0
_TIMEOUTS = Timeouts(start=900.0)
"""An executor may take long to come up: nodes are started for it, images are pulled."""
_FOLDER = Path(names.APP_FOLDER)
_TERMINATION_LOG = Path("/dev/termination-log")
"""The kubelet shows what is written there as the reason of the pod's end, in place of the end of its log."""

_log = structlog.get_logger("streamapp.driver")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """The documents, pages and signals of this driver; `handles` are closed at its end."""

    environment: DriverEnvironment
    store: MetadataStore
    follower: JobModelFollower
    reporter: ProgressReporter
    lease: DriverLease
    health: DriverHealth
    draining: threading.Event
    handles: ExitStack


def main() -> int:
    """Run one epoch of an app, and return the exit code of its end."""
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
            _TERMINATION_LOG.write_text(str(failure))
        return _FAILED_EXIT_CODE


def _drive(environment: DriverEnvironment, api: KubernetesApi, draining: threading.Event, handles: ExitStack) -> int:
    health = DriverHealth(time.monotonic)
    registry = CollectorRegistry()
    registry.register(SummaryCollector(environment.app, environment.namespace, lambda: health.summary))
    handles.callback(serve_pages(health, registry, names.HTTP_PORT).close)
    owner = _owner(api, environment)
    store = ConfigMapMetadataStore(api, environment.namespace, environment.app, owners=[owner])
    follower = JobModelFollower(store, environment.epoch)
    reporter = ProgressReporter(store, follower.read_launched().launch.run_id, environment.epoch, now)
    context = _Context(
        environment=environment,
        store=store,
        follower=follower,
        reporter=reporter,
        lease=DriverLease(api, environment, owner, now),
        health=health,
        draining=draining,
        handles=handles,
    )
    try:
        completed = _run(context)
    except (EpochOutdatedError, Superseded):
        raise
    except FAILURES as failure:
        reporter.phase(DriverPhase.FAILED, str(failure))
        raise
    reporter.phase(DriverPhase.COMPLETED if completed else DriverPhase.DRAINED)
    return names.STOPPED_EXIT_CODE


def _run(context: _Context) -> bool:
    """Run the launched app; return whether it has come to its end: if not, it was drained."""
    follower, store = context.follower, context.store
    model = _first_model(context)
    if model is None:
        return False
    launched = follower.read_launched()
    context.reporter.phase(DriverPhase.STARTING)
    run = plan_launched(launched, model)
    record = start_epoch(launched, run, store, _FOLDER)
    registry = ReportRegistry(time.monotonic)
    app, launch = run.plan.app, launched.launch
    host = KubernetesHost(registry, app, context.environment, launch.processors, launch.executor_template)
    context.handles.callback(host.close)
    epoch = Epoch(
        run=run,
        record=record,
        text=launched.text,
        folder=_FOLDER,
        state_folder=f"{names.STATE_FOLDER}/{run_state_path(app.metadata, record.run_id)}",
        started=time.monotonic(),
        stop_seconds=_STOP_SECONDS,
        timeouts=_TIMEOUTS,
    )
    authority = RunAuthority(record, run.plan, _FOLDER, check=follower.check)
    job_models = FollowedJobModels(launched, follower, host, _log.warning)
    progress = KubernetesProgressListener(context.reporter, context.lease, context.health, _log.warning)
    with DriverLoop(epoch, authority, host, registry, job_models=job_models, listener=progress) as loop:
        final = loop.run(context.draining.is_set)
    if final is None:
        return False
    complete_run(msgspec.structs.replace(record, summary=final.summary), final.run, store, _FOLDER)
    return True


def _owner(api: KubernetesApi, environment: DriverEnvironment) -> Object:
    """Return the reference to the app that owns this pod: it owns what the driver creates, too."""
    pod = api.get(Kind.POD, environment.namespace, environment.pod)
    references = [] if pod is None else pod["metadata"].get("ownerReferences", [])
    owner: Object = next(reference for reference in references if reference["kind"] == Kind.APP.kind)
    return owner


def _first_model(context: _Context) -> JobModel | None:
    """Wait for the job model of this epoch, which is written right after the pod is created; None: stop instead."""
    while not context.draining.wait(_WAIT_SECONDS):
        context.follower.read_launched()
        context.health.turn(None, ready=False)
        model = context.follower.newer_model()
        if model is not None:
            return model
    return None


if __name__ == "__main__":
    sys.exit(main())
