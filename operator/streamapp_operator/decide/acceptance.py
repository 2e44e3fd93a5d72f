"""Which spec is in force: the newest one, if it is acceptable, else the last one that was (design 10)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from streamapp_core.deployment.app_record import AcceptedSpec, AppRecord, AppVersion, digest
from streamapp_core.edits import EditClass
from streamapp_core.edits.classify_edits import classify
from streamapp_core.edits.edit_classes import strongest
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan
from streamapp_core.problems import Problem
from streamapp_core.spec.app import StreamApp
from streamapp_operator.decide.validation import Planner, PlanRequest, accepted_app
from streamapp_operator.observe.observed_state import Observed


class AcceptanceState(StrEnum):
    """What is known of the newest spec and the newest state of its streams."""

    ACCEPTED = "Accepted"
    SPEC_REFUSED = "SpecRefused"
    STREAMS_REFUSED = "StreamsRefused"
    ASKING = "AskingForStreams"
    UNREACHABLE = "SystemUnavailable"
    LOST = "JobModelLost"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSpec:
    """The accepted spec by which the app runs. `record` has it; it is not written yet if it differs from what is."""

    record: AppRecord
    app: StreamApp
    suspended: bool

    @property
    def accepted(self) -> AcceptedSpec:
        """The spec in force."""
        return self.record.accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The standing of the newest spec, why, and what is in force (None: nothing was ever accepted)."""

    standing: AcceptanceState
    in_force: ActiveSpec | None
    problems: tuple[Problem, ...] = ()
    message: str | None = None


def accept(observed: Observed, judge: Planner) -> Acceptance:
    """Judge the newest spec with the newest counts of its streams."""
    text = observed.app.text
    record = observed.record
    kept = None if record is None else _in_force(observed, record)
    if observed.lost is not None and not _starts_anew(observed):
        return Acceptance(standing=AcceptanceState.LOST, in_force=None, message=observed.lost)
    same = record is not None and record.accepted.app == digest(text)
    counts = observed.counts.known
    if counts is None:
        if same:
            return Acceptance(standing=AcceptanceState.ACCEPTED, in_force=kept, message=observed.counts.trouble)
        standing = AcceptanceState.ASKING if observed.counts.trouble is None else AcceptanceState.UNREACHABLE
        return Acceptance(standing=standing, in_force=kept, message=observed.counts.trouble)
    if record is not None and same and not _read_streams_differ(observed, record.accepted.counts, counts):
        return Acceptance(standing=AcceptanceState.ACCEPTED, in_force=kept)
    return _judged(observed, judge, counts, kept, same=same)


def _judged(
    observed: Observed, judge: Planner, counts: Mapping[str, int], kept: ActiveSpec | None, *, same: bool
) -> Acceptance:
    record, text = observed.record, observed.app.text
    question = PlanRequest(
        text=text,
        counts=tuple(sorted(counts.items())),
        in_force=None if record is None or same else record.text(record.accepted),
        model=_model(observed),
        run_id=_run_id(observed),
    )
    verdict = judge(question)
    if verdict.plan is None:
        standing = AcceptanceState.STREAMS_REFUSED if same else AcceptanceState.SPEC_REFUSED
        return Acceptance(standing=standing, in_force=kept, problems=verdict.problems)
    accepted = AcceptedSpec(
        app=digest(text), run_id=verdict.plan.run_id, counts=counts, generation=observed.app.generation
    )
    texts = {accepted.app: text}
    if record is None:
        record = AppRecord(accepted=accepted, apps=texts)
    else:
        record = record.having(accepted=accepted, launch=record.launch, texts=texts)
    return Acceptance(standing=AcceptanceState.ACCEPTED, in_force=_in_force(observed, record))


def plan_in_force(observed: Observed, in_force: ActiveSpec, judge: Planner) -> Plan | None:
    """Plan the spec in force with the counts it was accepted with; None if this release refuses it."""
    accepted = in_force.accepted
    text = in_force.record.text(accepted)
    counts = tuple(sorted(accepted.counts.items()))
    return judge(
        PlanRequest(text=text, counts=counts, in_force=None, model=_model(observed), run_id=accepted.run_id)
    ).plan


def launched_edit(in_force: ActiveSpec) -> EditClass:
    """Tell what becoming the spec in force does to the driver that was launched with another one."""
    launch = in_force.record.launch
    if launch is None or launch.app == in_force.accepted.app:
        return EditClass.NONE
    return _edit_class(in_force.record.text(launch), in_force.record.text(in_force.accepted), launch.run_id)


def expanded(observed: Observed, in_force: ActiveSpec) -> bool:
    """Tell whether streams that the launched driver reads have other counts in force."""
    launch = in_force.record.launch
    return launch is not None and _read_streams_differ(observed, launch.counts, in_force.accepted.counts)


def same_run(model: JobModel | None, version: AppVersion) -> JobModel | None:
    """Give the job model if it is of the run of a spec."""
    return model if model is not None and model.run_id == version.run_id else None


@lru_cache(maxsize=200)
def _edit_class(old: str, new: str, run_id: str) -> EditClass:
    return strongest(classify(accepted_app(old), accepted_app(new), run_id=run_id))


def _in_force(observed: Observed, record: AppRecord) -> ActiveSpec:
    app = accepted_app(record.text(record.accepted))
    suspended = app.spec.suspend or observed.app.spec.get("suspend") is True
    return ActiveSpec(record=record, app=app, suspended=suspended)


def _read_streams_differ(observed: Observed, before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Compare the counts of the streams that the app reads; what it writes may appear and grow as it likes."""
    model = _model(observed)
    names = set(before) | set(now)
    if model is not None:
        names &= set(model.streams)
    return any(before.get(name) != now.get(name) for name in names)


def _run_id(observed: Observed) -> str:
    """Give the run that goes on if the spec names none: without a record, that of the job model."""
    if observed.record is not None:
        return observed.record.accepted.run_id
    return observed.fresh_run_id if observed.model is None else observed.model.model.run_id


def _model(observed: Observed) -> JobModel | None:
    return None if observed.model is None else observed.model.model


def _starts_anew(observed: Observed) -> bool:
    """Tell whether the spec names another run than the one whose documents are lost."""
    wanted = observed.app.spec.get("runId")
    return wanted is not None and wanted != observed.app.status.get("runId")
