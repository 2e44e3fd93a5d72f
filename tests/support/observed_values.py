"""Values that the Kubernetes operator decides from: an app, its record, its job model, its pods, what is observed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from streamapp_core.deployment.app_record import AcceptedSpec, AppRecord, Launch, LaunchCause, digest
from streamapp_core.deployment.driver_reports import DriverPhase, LocalityReport, ProgressReport
from streamapp_core.deployment.kubernetes_names import Role
from streamapp_core.job_model.job_model import ProcessorModel
from streamapp_core.job_model.stored_job_model import StoredJobModel
from streamapp_operator.decide.acceptance import ActiveSpec
from streamapp_operator.decide.task_assignment import assign_tasks, build_unbound_processors
from streamapp_operator.decide.validation import PlanRequest, parse_accepted_app
from streamapp_operator.observe.observed_state import Observed, StreamCounts
from streamapp_operator.observe.resource_views import Pod, PodPhase, parse_app_resource
from support.operated import BROKEN, PLANNER, SPEC

NOW = datetime(2025, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
COUNTS = {"orders": 4, "totals": 4}
GROWN = {"orders": 8, "totals": 4}


def resource(*, status=None, generation=1, deleting=False, finalizers=(), **changes):
    """View the shop's resource, with changes of its spec."""
    metadata = {
        "name": "shop",
        "namespace": "default",
        "uid": "shop-uid",
        "resourceVersion": "1",
        "generation": generation,
        "finalizers": list(finalizers),
    }
    if deleting:
        metadata["deletionTimestamp"] = "2025-01-01T00:00:00Z"
    return parse_app_resource({"metadata": metadata, "spec": {**SPEC, **changes}, "status": status or {}})


SHOP = resource()
EDITED = resource(generation=2, job={"commitInterval": "5s"})
REFUSED = resource(generation=2, operators=BROKEN)
"""The shop; after an edit that restarts its driver; after one that is refused."""


def plan_request(app=SHOP, counts=COUNTS, *, previous=None, model=None, run_id="r1", new=True):
    return PlanRequest(
        text=app.text,
        counts=counts,
        previous=None if previous is None else previous.text,
        model=model,
        run_id=run_id,
        new=new,
    )


def planned(counts=COUNTS, app=SHOP, run_id="r1"):
    """Plan an app as its first run does."""
    return PLANNER(plan_request(app, counts, run_id=run_id)).plan


def launch(epoch=1, app=SHOP, **fields):
    values = {
        "app": digest(app.text),
        "run_id": "r1",
        "counts": COUNTS,
        "epoch": epoch,
        "processors": 2,
        "executor_template": {},
        "cause": LaunchCause.FIRST_START,
        "at": NOW,
    }
    return Launch(**{**values, **fields})


LAUNCH = launch()


def record(app=SHOP, launch=LAUNCH, launched=SHOP, *, counts=COUNTS, run_id="r1"):
    """Make a record: the accepted app, and the launch of the same or of another one."""
    accepted = AcceptedSpec(app=digest(app.text), run_id=run_id, counts=counts, generation=app.generation)
    texts = {digest(app.text): app.text}
    if launch is not None:
        texts |= {digest(launched.text): launched.text}
    ready = accepted if launch is not None and launch.app == accepted.app else None
    return AppRecord(accepted=accepted, launch=launch, ready=ready, apps=texts)


def active(app=SHOP, *, suspended=False, **fields):
    """Make the active spec of a record."""
    return ActiveSpec(record=record(app, **fields), app=parse_accepted_app(app.text), suspended=suspended)


def unbound_model(processors=2, counts=COUNTS):
    """Assign the shop's tasks to processors that have no executors yet."""
    return assign_tasks(planned(counts), None, build_unbound_processors(processors), NOW)


def bound_model(**nodes):
    """Assign the shop's tasks to processors on executors: "1" on the node `node1`, and so on."""
    bindings = {
        str(number): ProcessorModel(executor=str(number + 1), location=node)
        for number, node in enumerate(nodes.values())
    }
    return assign_tasks(planned(), unbound_model(len(bindings)), bindings, NOW)


def stored(model=None, epoch=1, pointer_version=7):
    model = unbound_model() if model is None else model
    return StoredJobModel(model=model, epoch=epoch, pointer_version=pointer_version)


def driver(epoch=1, **fields):
    return _pod(f"shop-driver-{epoch}", epoch, role=Role.DRIVER, **fields)


def executor(number, node="node-a", epoch=1, **fields):
    values = {"role": Role.PROCESSOR, "uid": f"uid-{number}", "node": node, "executor": str(number), **fields}
    return _pod(f"shop-{epoch}-exec-{number}", epoch, **values)


def cleanup(name, **fields):
    """Make a pod that removes the state of a node."""
    return _pod(name, 0, role=Role.CLEANUP, **fields)


def _pod(name, epoch, **fields):
    values = {"uid": f"uid-{name}", "phase": PodPhase.RUNNING, "created_at": NOW, **fields}
    return Pod(name=name, epoch=epoch, **values)


def progress(phase=DriverPhase.RUNNING, *, epoch=1, running=("0", "1"), **fields):
    values = {"run_id": "r1", "since": NOW, **fields}
    return ProgressReport(phase=phase, epoch=epoch, running=running, **values)


def locality(model, run_id="r1"):
    """Report that every task opened its state where its processor is."""
    locations = {}
    for task in model.tasks.values():
        locations.setdefault(model.processors[task.processor].location, []).append(task.changelog_partition)
    return LocalityReport(run_id=run_id, epoch=1, locations=locations)


def observe(**fields):
    """Observe an app that has nothing yet."""
    values = {"app": SHOP, "now": NOW, "new_run_id": "fresh", "counts": StreamCounts(known=COUNTS)}
    return Observed(**{**values, **fields})


def observe_running(**fields):
    """Observe an app whose driver runs, without executors."""
    values = {"record": record(), "record_version": 3, "model": stored(), "pods": (driver(ready=True),)}
    return observe(**{**values, **fields})


def later(observed, time):
    return replace(observed, now=observed.now + time)
