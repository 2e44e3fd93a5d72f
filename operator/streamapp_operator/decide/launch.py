"""The actions that launch and stop a driver, and keep what it needs in place."""

from collections.abc import Iterator
from dataclasses import replace

from streamapp_core.deployment.app_record import AppRecord, Launch, LaunchCause, StopCause
from streamapp_core.deployment.kubernetes_names import Role, driver_account, driver_service
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan
from streamapp_operator.decide.acceptance import ActiveSpec, same_run
from streamapp_operator.decide.actions import Action, ActionKind, CreateObject, DeletePod, WriteJobModel, WriteRecord
from streamapp_operator.decide.manifests.access import account_manifest, binding_manifest, service_manifest
from streamapp_operator.decide.manifests.driver_pod import driver_manifest
from streamapp_operator.decide.manifests.executor_template import executor_template
from streamapp_operator.decide.placement import apply_locality, assign_tasks, unbound_processors
from streamapp_operator.observe.document_recovery import newest_epoch
from streamapp_operator.observe.observed_state import Bound, DriverRole, Observed
from streamapp_systems.kubernetes.kubernetes_api import Kind


def launched(observed: Observed, in_force: ActiveSpec, cause: LaunchCause, attempt: int) -> ActiveSpec:
    """Give the record with the next launch: the epoch is higher than any before, whatever became of them."""
    before = in_force.record.launch
    known = [0 if before is None else before.epoch, 0 if observed.model is None else observed.model.epoch]
    epoch = newest_epoch(observed.app, *known, *(pod.epoch for pod in observed.pods_of(Role.DRIVER))) + 1
    accepted, spec = in_force.accepted, in_force.app.spec
    model = None if observed.model is None else same_run(observed.model.model, accepted)
    launch = Launch(
        app=accepted.app,
        run_id=accepted.run_id,
        counts=accepted.counts,
        epoch=epoch,
        processors=spec.processors.count,
        executor_template=executor_template(
            observed.app.key.name, spec, epoch, None if model is None else apply_locality(model, observed.locality)
        ),
        cause=cause,
        attempt=attempt,
        at=observed.now,
    )
    return replace(in_force, record=in_force.record.having(accepted=accepted, launch=launch, texts={}))


def launch_actions(observed: Observed, in_force: ActiveSpec, launch: Launch, plan: Plan | None) -> Iterator[Action]:
    """Launch a driver: the epoch first, then its pod, then the job model that lets it begin.

    A death after the first leaves an epoch that no pod has, and none ever will: its job model is not there, so the
    next pass takes a higher one. A death after the second is made up for by `job_model_actions`.
    """
    yield from account(observed, in_force)
    if in_force.record != observed.record:
        yield WriteRecord(record=in_force.record, expected=observed.record_version)
    yield CreateObject(
        kind=Kind.POD,
        body=driver_manifest(observed.app, in_force.app.spec, launch.epoch),
        action_kind=ActionKind.CREATE_DRIVER,
    )
    yield from job_model_actions(observed, launch, plan)


def job_model_actions(observed: Observed, launch: Launch, plan: Plan | None) -> Iterator[Action]:
    """Put the first job model of an epoch in force: no processor has an executor in it yet."""
    model = first_model(observed, launch, plan)
    if model is not None:
        yield WriteJobModel(model=model, epoch=launch.epoch, expected=observed.pointer_version)


def first_model(observed: Observed, launch: Launch, plan: Plan | None) -> JobModel | None:
    """Give the job model that an epoch begins with; without a plan that of before, if it is of the same run."""
    previous = None if observed.model is None else apply_locality(observed.model.model, observed.locality)
    bindings = unbound_processors(launch.processors)
    if plan is not None:
        return assign_tasks(plan, previous, bindings, observed.now)
    return same_run(previous, launch)


def account(observed: Observed, in_force: ActiveSpec) -> Iterator[Action]:
    """Make the account of an app's drivers, where it is missing; without it no pod can be made."""
    missing = (Kind.SERVICE_ACCOUNT, driver_account(observed.app.key.name)) not in observed.present
    if missing and in_force.app.spec.service_account_name is None:
        yield CreateObject(
            kind=Kind.SERVICE_ACCOUNT,
            body=account_manifest(observed.app),
            action_kind=ActionKind.CREATE_SERVICE_ACCOUNT,
        )


def needs(observed: Observed, in_force: ActiveSpec, role: DriverRole) -> Iterator[Action]:
    """Make what else every driver of an app needs, where it is missing."""
    app, name = observed.app, observed.app.key.name
    spec = in_force.app.spec
    wanted = Bound(account=spec.service_account_name or driver_account(name), role=role)
    if observed.bound != wanted:
        body = binding_manifest(app, wanted)
        yield CreateObject(kind=Kind.ROLE_BINDING, body=body, action_kind=ActionKind.CREATE_ROLE_BINDING)
    if (Kind.SERVICE, driver_service(name)) not in observed.present:
        yield CreateObject(kind=Kind.SERVICE, body=service_manifest(app), action_kind=ActionKind.CREATE_SERVICE)


def stop_actions(observed: Observed, record: AppRecord, launch: Launch, cause: StopCause) -> Iterator[Action]:
    """Stop the driver of a launch gracefully; that it is on purpose is written down before."""
    if launch.stop is None:
        stopped = launch.model_copy(update={"stop": cause})
        record = record.having(accepted=record.accepted, launch=stopped, texts={})
    if record != observed.record:
        yield WriteRecord(record=record, expected=observed.record_version)
    for pod in observed.pods_of(Role.DRIVER, launch.epoch):
        if pod.live:
            yield DeletePod(name=pod.name, uid=pod.uid)


def leftovers(observed: Observed, epoch: int) -> Iterator[Action]:
    """Delete the pods of earlier epochs; of drivers that died, the last is kept for its logs."""
    dead = [pod for pod in observed.pods_of(Role.DRIVER) if pod.finished and pod.epoch < epoch]
    kept = max(dead, key=lambda pod: pod.epoch, default=None)
    for pod in observed.pods:
        old = pod.role in (Role.DRIVER, Role.PROCESSOR) and pod.epoch < epoch
        if old and pod.deleting_at is None and pod is not kept:
            yield DeletePod(name=pod.name, uid=pod.uid)
