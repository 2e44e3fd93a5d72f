"""What the conditions of an app are found from, and what is found of each."""

from dataclasses import dataclass

from streamapp_core.crd.status_model import ConditionStatus
from streamapp_core.deployment.driver_reports import ProgressReport
from streamapp_core.deployment.kubernetes_names import Role
from streamapp_core.job_model.job_model import JobModel
from streamapp_operator.decide.acceptance import Acceptance
from streamapp_operator.decide.driver_decision import DriverDecision, DriverState
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.observe.pod_problems import PodProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionValue:
    """Whether a condition holds, a word for programs, and a sentence for people."""

    status: ConditionStatus
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusInputs:
    """What conditions are found from. `driving` is None as long as nothing was accepted.

    `refusal` says why the API server refused what was decided just now.
    """

    observed: Observed
    acceptance: Acceptance
    driving: DriverDecision | None
    model: JobModel | None
    wanted: int
    refusal: str | None = None

    @property
    def running(self) -> tuple[str, ...]:
        """The processors that run their tasks, as the driver of the epoch in force reports."""
        report = self.report
        return (
            ()
            if report is None or self.model is None
            else tuple(p for p in report.running if p in self.model.processors)
        )

    @property
    def report(self) -> ProgressReport | None:
        """The newest report of the driver that is launched."""
        in_force, report = self.acceptance.in_force, self.observed.progress
        launch = None if in_force is None else in_force.record.launch
        known = report is not None and launch is not None and report.epoch == launch.epoch
        return report if known else None

    @property
    def state(self) -> DriverState | None:
        """Where the driver is in its life."""
        return None if self.driving is None else self.driving.state

    @property
    def executor_trouble(self) -> PodProblem | None:
        """What keeps an executor of the driver that is launched from running."""
        in_force = self.acceptance.in_force
        if in_force is None or in_force.record.launch is None:
            return None
        pods = self.observed.pods_of(Role.PROCESSOR, in_force.record.launch.epoch)
        return next((pod.trouble for pod in pods if pod.trouble is not None), None)
