"""The inputs of the status: what was observed, what was decided, and the state that it leads to."""

from dataclasses import dataclass, replace
from typing import Self

from streamapp_core.deployment.app_record import Launch
from streamapp_core.deployment.driver_reports import ProgressReport
from streamapp_core.deployment.kubernetes_names import Role
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan
from streamapp_core.problems import Problem
from streamapp_operator.decide.acceptance import Acceptance
from streamapp_operator.decide.driver_decision import DriverDecision, DriverState
from streamapp_operator.decide.reconciliation import Outcome
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.observe.pod_problems import PodProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusInputs:
    """Everything that the status is made from. `driver_decision` is None as long as nothing was accepted.

    This release refuses the active spec, which an earlier one has accepted, because of `outdated`; of an app that has
    completed that does not matter.
    `refusal` says why the API server refused an action of the decision, `upgrade_blocked` why an upgrade that does not
    come to run is not rolled back.
    """

    observed: Observed
    acceptance: Acceptance
    driver_decision: DriverDecision | None = None
    model: JobModel | None = None
    plan: Plan | None = None
    outdated: tuple[Problem, ...] = ()
    wanted: int = 0
    refusal: str | None = None
    upgrade_blocked: str | None = None

    @classmethod
    def of(cls, observed: Observed, outcome: Outcome, refusal: str | None = None) -> Self:
        """Return the inputs after all actions of a decision, or, if one was refused, before them."""
        acceptance, model = outcome.acceptance, outcome.model
        active = acceptance.active
        if refusal is not None and active is not None:
            stored = None if observed.record is None else replace(active, record=observed.record)
            acceptance = replace(acceptance, active=stored)
            model = None if observed.model is None else observed.model.model
        return cls(
            observed=observed,
            acceptance=acceptance,
            driver_decision=outcome.driver_decision,
            model=model,
            plan=outcome.plan,
            outdated=() if _has_completed(outcome) else outcome.outdated,
            wanted=0 if active is None else active.app.spec.processors.count,
            refusal=refusal,
            upgrade_blocked=outcome.upgrade_blocked,
        )

    @property
    def launch(self) -> Launch | None:
        """The newest launch of a driver."""
        active = self.acceptance.active
        return None if active is None else active.record.launch

    @property
    def state(self) -> DriverState | None:
        """The state of the driver."""
        return None if self.driver_decision is None else self.driver_decision.state

    @property
    def report(self) -> ProgressReport | None:
        """The newest progress report, if it is of the newest launch."""
        report, launch = self.observed.progress, self.launch
        return report if report is not None and launch is not None and report.epoch == launch.epoch else None

    @property
    def running(self) -> tuple[str, ...]:
        """The processors that run their tasks, as the driver reports."""
        report, model = self.report, self.model
        if report is None or model is None:
            return ()
        return tuple(processor for processor in report.running if processor in model.processors)

    @property
    def executor_problem(self) -> PodProblem | None:
        """The problem that keeps an executor of the newest launch from running, if there is one."""
        if self.launch is None:
            return None
        pods = self.observed.pods_of(Role.PROCESSOR, self.launch.epoch)
        return next((pod.problem for pod in pods if pod.problem is not None), None)


def _has_completed(outcome: Outcome) -> bool:
    return outcome.driver_decision is not None and outcome.driver_decision.state is DriverState.COMPLETED
