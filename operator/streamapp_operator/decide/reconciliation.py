"""The one place where everything about an app is decided: observe -> decide -> act (design 10).

Level-based: the actions follow from the state as it is, whatever led to it. After any of them the process may die; what
is decided then leads to the same end.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from streamapp_core.deployment.app_record import AppRecord, Launch
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.stored_job_model import StoredJobModel
from streamapp_core.plan.plan import Plan
from streamapp_operator.decide.acceptance import Acceptance, ActiveSpec, accept, plan_in_force
from streamapp_operator.decide.actions import Action, EmitEvent, WriteJobModel, WriteRecord
from streamapp_operator.decide.deletion import delete, finalizer_actions
from streamapp_operator.decide.driver_decision import DriverDecision, DriverState, drive
from streamapp_operator.decide.launch import (
    account,
    job_model_actions,
    launch_actions,
    launched,
    leftovers,
    needs,
    stop_actions,
)
from streamapp_operator.decide.location_ids import location_of
from streamapp_operator.decide.placement import apply_locality, assign_tasks, find_live_executors, place
from streamapp_operator.decide.validation import Planner
from streamapp_operator.observe.observed_state import DriverRole, Memory, Observed, PlacementInputs
from streamapp_operator.observe.resource_views import AppResource

_LOOK_FOR_LOST = timedelta(minutes=1)
"""How often documents that are lost are looked for in the coordinator stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What decisions depend on besides the app: settings of the process, and a verdict on specs."""

    planner: Planner
    driver_role: DriverRole
    executor_timeout: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The state that the actions of a decision lead to, for the status.

    `driver` is None as long as nothing was accepted; `plan` too, or if this release refuses the active spec.
    """

    acceptance: Acceptance
    driver: DriverDecision | None = None
    model: JobModel | None = None
    plan: Plan | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The actions to take, in this order; when to decide again if nothing happens; what to remember until then.

    `outcome` is None if the status stays as it is: of an app that is being deleted, or that gets its job model back.
    """

    actions: tuple[Action, ...]
    wake_at: datetime | None = None
    memory: Memory
    outcome: Outcome | None = None


def decide(observed: Observed, rules: Rules) -> Decision:
    """Decide about an app."""
    if observed.app.deleting:
        deletion = delete(observed)
        return Decision(actions=deletion.actions, wake_at=deletion.wake_at, memory=observed.memory)
    if observed.restorable is not None:
        return Decision(actions=tuple(_restored(observed.app, observed.restorable)), memory=observed.memory)
    acceptance = accept(observed, rules.planner)
    if acceptance.in_force is None:
        return Decision(
            actions=tuple(finalizer_actions(observed.app)),
            wake_at=None if observed.lost is None else observed.now + _LOOK_FOR_LOST,
            memory=observed.memory,
            outcome=Outcome(acceptance=acceptance),
        )
    return _Course(observed, acceptance, acceptance.in_force, rules).decision()


class _Course:
    """One decision about an app that has a spec in force."""

    def __init__(self, observed: Observed, acceptance: Acceptance, in_force: ActiveSpec, rules: Rules) -> None:
        self._observed = observed
        self._acceptance = acceptance
        self._in_force = in_force
        self._rules = rules
        self._plan = plan_in_force(observed, in_force, rules.planner)
        self._driving = drive(observed, in_force)
        self._model = None if observed.model is None else observed.model.model
        self._memory = Memory(
            driver_missing_since=self._driving.missing_since, refused_epoch=observed.memory.refused_epoch
        )
        self._wake_at = self._driving.wake_at

    def decision(self) -> Decision:
        actions = (*finalizer_actions(self._observed.app), *self._actions())
        outcome = Outcome(
            acceptance=replace(self._acceptance, in_force=self._in_force),
            driver=self._driving,
            model=self._model,
            plan=self._plan,
        )
        return Decision(actions=actions, wake_at=self._wake_at, memory=self._memory, outcome=outcome)

    def _actions(self) -> Iterator[Action]:
        driving, launch = self._driving, self._in_force.record.launch
        match driving.state:
            case DriverState.LAUNCHING:
                yield from self._launch(driving)
            case DriverState.STARTING | DriverState.RUNNING:
                assert launch is not None
                yield from self._keep_running(launch)
            case DriverState.DRAINING if driving.stop is not None:
                assert launch is not None
                yield from stop_actions(self._observed, self._in_force.record, launch, driving.stop)
            case _:
                yield from self._write(self._in_force.record)

    def _launch(self, driving: DriverDecision) -> Iterator[Action]:
        if self._plan is None and self._model is None:
            yield from self._write(self._in_force.record)
            return
        assert driving.launch is not None
        if not driving.same_epoch:
            self._in_force = launched(self._observed, self._in_force, driving.launch, driving.attempt)
        launch = self._in_force.record.launch
        assert launch is not None
        for action in launch_actions(self._observed, self._in_force, launch, self._plan):
            self._note(action)
            yield action
        yield from needs(self._observed, self._in_force, self._rules.driver_role)
        yield from leftovers(self._observed, launch.epoch)

    def _keep_running(self, launch: Launch) -> Iterator[Action]:
        """Keep what a driver needs in place, follow the executors, and rescale."""
        observed = self._observed
        yield from account(observed, self._in_force)
        yield from needs(observed, self._in_force, self._rules.driver_role)
        count = self._in_force.app.spec.processors.count
        if launch.processors != count:
            launch = launch.model_copy(update={"processors": count})
            record = self._in_force.record
            record = record.having(accepted=record.accepted, launch=launch, texts={})
            self._in_force = replace(self._in_force, record=record)
        yield from self._write(self._in_force.record)
        placed = self._placed(launch)
        for action in placed:
            self._note(action)
            yield action
        yield from leftovers(observed, launch.epoch)

    def _placed(self, launch: Launch) -> Iterator[Action]:
        stored = self._observed.model
        if stored is None or stored.epoch < launch.epoch:
            yield from job_model_actions(self._observed, launch, self._plan)
            return
        if self._plan is None:
            return
        model = apply_locality(stored.model, self._observed.locality)
        executors = find_live_executors(self._observed, launch.epoch, location_of(self._in_force.app.spec.processors))
        placement = place(self._observed, model, executors, launch.processors, self._rules.executor_timeout)
        locality = self._observed.locality
        placement_inputs = PlacementInputs(
            plan=self._plan, model=stored.model, locality=locality, bindings=placement.bindings
        )
        self._memory = replace(self._memory, executors_missing_since=placement.missing_since)
        self._wake_at = placement.wake_at or self._wake_at
        if placement_inputs != self._observed.memory.placement_inputs:
            placed = assign_tasks(self._plan, model, placement.bindings, self._observed.now)
            if placed.version != stored.model.version:
                yield WriteJobModel(model=placed, epoch=launch.epoch, expected=stored.pointer_version)
                return
        self._memory = replace(self._memory, placement_inputs=placement_inputs)

    def _write(self, record: AppRecord) -> Iterator[Action]:
        if record != self._observed.record:
            yield WriteRecord(record=record, expected=self._observed.record_version)

    def _note(self, action: Action) -> None:
        """Let the status tell of the job model that is about to be in force."""
        if isinstance(action, WriteJobModel):
            self._model = action.model


def _restored(app: AppResource, stored: StoredJobModel) -> Iterator[Action]:
    """Put back a job model that was lost; with it, everything else follows."""
    yield WriteJobModel(model=stored.model, epoch=stored.epoch, expected=stored.pointer_version)
    yield EmitEvent(
        name=f"{app.key.name}.restored-{stored.epoch}-{stored.model.version}",
        warning=True,
        reason="JobModelRestored",
        message=f"the job model of run {stored.model.run_id} was lost; it is back from the coordinator stream",
    )
