"""Actions that launch and stop a driver, and keep what it needs in place."""

from collections.abc import Iterator
from dataclasses import replace

from streamapp_core.deployment.app_record import AppRecord, Launch, LaunchCause
from streamapp_core.deployment.kubernetes_names import DIGEST_ANNOTATION, Role, driver_account, driver_service
from streamapp_operator.decide.acceptance import ActiveSpec
from streamapp_operator.decide.actions import Action, ActionKind, CreateObject, DeletePod, WriteRecord
from streamapp_operator.decide.manifests.access import build_driver_service, build_role_binding, build_service_account
from streamapp_operator.decide.manifests.driver_pod import build_driver_pod
from streamapp_operator.decide.manifests.executor_template import build_executor_template
from streamapp_operator.decide.manifests.network_policy import build_network_policy
from streamapp_operator.decide.task_assignment import apply_locality
from streamapp_operator.observe.document_recovery import highest_epoch
from streamapp_operator.observe.observed_state import AppNetwork, DriverBinding, DriverRole, Observed
from streamapp_systems.kubernetes.kubernetes_api import Kind

_CONTINUING = (LaunchCause.DRIVER_DIED, LaunchCause.EDITED)
"""The causes of launches that may follow another one of the same spec: after a death, or one that was not finished."""


def build_launch(observed: Observed, active: ActiveSpec, cause: LaunchCause, attempt: int) -> Launch:
    """Return the next launch of the active spec; its epoch is higher than any that anybody knows of."""
    previous = active.record.launch
    known = [0 if previous is None else previous.epoch, 0 if observed.model is None else observed.model.epoch]
    epoch = highest_epoch(observed.app, *known, *(pod.epoch for pod in observed.pods_of(Role.DRIVER))) + 1
    accepted, spec = active.accepted, active.app.spec
    model = None if observed.model is None else apply_locality(observed.model.model, observed.locality)
    same_run = model if model is not None and model.run_id == accepted.run_id else None
    begun = None if previous is None or cause not in _CONTINUING or previous.app != accepted.app else previous
    return Launch(
        app=accepted.app,
        run_id=accepted.run_id,
        counts=accepted.counts,
        epoch=epoch,
        processors=spec.processors.count,
        executor_template=build_executor_template(observed.app.key.name, spec, epoch, same_run),
        cause=cause,
        attempt=attempt,
        at=observed.now,
        first_epoch=epoch if begun is None else (begun.first_epoch or begun.epoch),
        first_at=observed.now if begun is None else (begun.first_at or begun.at),
    )


def replace_launch(active: ActiveSpec, launch: Launch) -> ActiveSpec:
    """Return the active spec with another launch in its record."""
    return replace(active, record=active.record.with_versions(accepted=active.accepted, launch=launch, texts={}))


def write_record(observed: Observed, record: AppRecord) -> Iterator[Action]:
    """Write the record if it differs from the stored one."""
    if record != observed.record:
        yield WriteRecord(record=record, expected=observed.record_version)


def create_driver(observed: Observed, active: ActiveSpec, epoch: int) -> CreateObject:
    """Create the driver's pod of an epoch."""
    body = build_driver_pod(observed.app, active.app.spec, epoch)
    return CreateObject(kind=Kind.POD, body=body, action_kind=ActionKind.CREATE_DRIVER)


def ensure_service_account(observed: Observed, active: ActiveSpec) -> Iterator[Action]:
    """Create the service account of an app's drivers if it is missing; no pod can be created without it."""
    missing = (Kind.SERVICE_ACCOUNT, driver_account(observed.app.key.name)) not in observed.present
    if missing and active.app.spec.service_account_name is None:
        body = build_service_account(observed.app)
        yield CreateObject(kind=Kind.SERVICE_ACCOUNT, body=body, action_kind=ActionKind.CREATE_SERVICE_ACCOUNT)


def ensure_network_policy(observed: Observed, network: AppNetwork) -> Iterator[Action]:
    """Create the NetworkPolicy of an app's pods, or write other rules; without isolation, open one that is there."""
    body = build_network_policy(observed.app, network)
    wanted = network.isolated or (Kind.NETWORK_POLICY, body["metadata"]["name"]) in observed.present
    if wanted and observed.network_policy != body["metadata"]["annotations"][DIGEST_ANNOTATION]:
        yield CreateObject(kind=Kind.NETWORK_POLICY, body=body, action_kind=ActionKind.CREATE_NETWORK_POLICY)


def ensure_dependencies(observed: Observed, active: ActiveSpec, role: DriverRole) -> Iterator[Action]:
    """Create the role binding and the service of an app's drivers if they are missing, or bind another role."""
    app, name = observed.app, observed.app.key.name
    wanted = DriverBinding(account=active.app.spec.service_account_name or driver_account(name), role=role)
    if observed.driver_binding != wanted:
        body = build_role_binding(app, wanted)
        yield CreateObject(kind=Kind.ROLE_BINDING, body=body, action_kind=ActionKind.CREATE_ROLE_BINDING)
    if (Kind.SERVICE, driver_service(name)) not in observed.present:
        yield CreateObject(kind=Kind.SERVICE, body=build_driver_service(app), action_kind=ActionKind.CREATE_SERVICE)


def delete_driver(observed: Observed, epoch: int) -> Iterator[Action]:
    """Delete the driver's pod of an epoch, unless it ends already."""
    for pod in observed.pods_of(Role.DRIVER, epoch):
        if pod.active:
            yield DeletePod(name=pod.name, uid=pod.uid)


def delete_stale_pods(observed: Observed, epoch: int) -> Iterator[Action]:
    """Delete the pods of earlier epochs; of the drivers that ended, the newest is kept for its logs."""
    ended = [pod for pod in observed.pods_of(Role.DRIVER) if pod.finished and pod.epoch < epoch]
    kept = max(ended, key=lambda pod: pod.epoch, default=None)
    for pod in observed.pods:
        stale = pod.role in (Role.DRIVER, Role.PROCESSOR) and pod.epoch < epoch
        if stale and pod.deleting_at is None and pod is not kept:
            yield DeletePod(name=pod.name, uid=pod.uid)
