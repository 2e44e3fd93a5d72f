"""The active spec: the newest one, if it is acceptable, else the last one that was (docs/operator.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from streamapp_core.deployment.app_record import AcceptedSpec, AppRecord, digest
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.problems import Problem, sorted_problems
from streamapp_core.spec.app import StreamApp
from streamapp_operator.decide.validation import (
    RESTARTING_EDITS,
    Planner,
    PlanRequest,
    PlanVerdict,
    classify_texts,
    parse_accepted_app,
)
from streamapp_operator.observe.app_text import read_app
from streamapp_operator.observe.file_settings import find_file_settings
from streamapp_operator.observe.observed_state import Observed


class AcceptanceState(StrEnum):
    """Whether the newest spec and the newest partition counts of its streams are accepted, or why not."""

    ACCEPTED = "Accepted"
    SPEC_REFUSED = "SpecRefused"
    STREAMS_REFUSED = "StreamsRefused"
    COUNTS_PENDING = "PartitionCountsPending"
    SYSTEM_UNAVAILABLE = "SystemUnavailable"
    JOB_MODEL_LOST = "JobModelLost"
    UPGRADE_ROLLED_BACK = "UpgradeRolledBack"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveSpec:
    """The accepted spec by which the app runs. `record` holds it; where it differs from the stored one, it is new."""

    record: AppRecord
    app: StreamApp
    suspended: bool

    @property
    def accepted(self) -> AcceptedSpec:
        """The spec as it was accepted: its digest, run id, and partition counts."""
        return self.record.accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The state of the newest spec, why, and the active one (None: none was ever accepted).

    `counts_error` says which systems do not answer with partition counts: a spec that was accepted before runs on, a
    new one waits. `unrecoverable` says which documents of the run are lost.
    """

    state: AcceptanceState
    active: ActiveSpec | None
    problems: tuple[Problem, ...] = ()
    counts_error: str | None = None
    unrecoverable: str | None = None


def accept(observed: Observed, planner: Planner) -> Acceptance:
    """Accept or refuse the newest spec with the newest partition counts of its streams."""
    if observed.unrecoverable is not None and not _names_another_run(observed):
        return Acceptance(state=AcceptanceState.JOB_MODEL_LOST, active=None, unrecoverable=observed.unrecoverable)
    record, counts = observed.record, observed.counts.known
    if record is not None and record.failed_upgrade is not None:
        if is_rolled_back(observed, record):
            return _accept_rolled_back(observed, planner, counts, _active_spec(observed, record))
        record = record.model_copy(update={"failed_upgrade": None})
        record = record.with_versions(accepted=record.accepted, launch=record.launch, texts={})
        observed = replace(observed, record=record)
    active = None if record is None else _active_spec(observed, record)
    unchanged = record is not None and record.accepted.app == digest(observed.app.text)
    if counts is None:
        return _accept_without_counts(observed, active, unchanged=unchanged)
    if record is not None and unchanged and not inputs_differ(observed, record.accepted.counts, counts):
        return Acceptance(state=AcceptanceState.ACCEPTED, active=active)
    return _plan(observed, planner, counts, active, unchanged=unchanged)


def is_rolled_back(observed: Observed, record: AppRecord) -> bool:
    """Return whether the newest spec was rolled back; it is the same after edits that would not restart its driver."""
    failed, text = record.failed_upgrade, observed.app.text
    if failed is None:
        return False
    if failed.app == digest(text):
        return True
    readable = all(read_app(one).app is not None for one in (text, record.apps[failed.app]))
    return readable and classify_texts(record.apps[failed.app], text, record.accepted.run_id) not in RESTARTING_EDITS


def _accept_rolled_back(
    observed: Observed, planner: Planner, counts: Mapping[str, int] | None, active: ActiveSpec
) -> Acceptance:
    """Keep the spec that was restored, as if it were the newest one, and let its streams grow."""
    accepted = active.accepted
    rolled_back = Acceptance(
        state=AcceptanceState.UPGRADE_ROLLED_BACK, active=active, counts_error=observed.counts.error
    )
    known = {**accepted.counts, **{name: n for name, n in (counts or {}).items() if name in accepted.counts}}
    if not inputs_differ(observed, accepted.counts, known):
        return rolled_back
    restored = replace(
        observed.app,
        text=active.record.text(accepted),
        generation=accepted.generation,
        defaults=accepted.defaults or {},
    )
    grown = _plan(replace(observed, app=restored), planner, known, active, unchanged=True)
    return replace(grown, state=rolled_back.state) if grown.state is AcceptanceState.ACCEPTED else grown


def _accept_without_counts(observed: Observed, active: ActiveSpec | None, *, unchanged: bool) -> Acceptance:
    """Keep a spec that was accepted before; a new one waits until the systems answer, if they are asked at all."""
    error = observed.counts.error
    if not unchanged and (problems := _refused_settings(observed)):
        return Acceptance(state=AcceptanceState.SPEC_REFUSED, active=active, problems=problems)
    if unchanged:
        state = AcceptanceState.ACCEPTED
    elif error is None:
        state = AcceptanceState.COUNTS_PENDING
    else:
        state = AcceptanceState.SYSTEM_UNAVAILABLE
    return Acceptance(state=state, active=active, counts_error=error)


def _refused_settings(observed: Observed) -> tuple[Problem, ...]:
    """Return the problems for which brokers are not asked, with all else that is known to be wrong without them."""
    parsed = read_app(observed.app.text)
    found = () if parsed.app is None else find_file_settings(parsed.app)
    return sorted_problems([*parsed.problems, *found]) if found else ()


def _plan(
    observed: Observed, planner: Planner, counts: Mapping[str, int], active: ActiveSpec | None, *, unchanged: bool
) -> Acceptance:
    record, text = observed.record, observed.app.text
    request = PlanRequest(
        text=text,
        counts=counts,
        previous=None if record is None or unchanged else record.text(record.accepted),
        model=_model(observed),
        run_id=_default_run_id(observed),
        new=not unchanged,
    )
    verdict = planner(request)
    if verdict.plan is None:
        state = AcceptanceState.STREAMS_REFUSED if unchanged else AcceptanceState.SPEC_REFUSED
        return Acceptance(state=state, active=active, problems=verdict.problems)
    accepted = AcceptedSpec(
        app=digest(text),
        run_id=verdict.plan.run_id,
        counts=counts,
        generation=observed.app.generation,
        defaults=observed.app.defaults or None,
    )
    texts = {accepted.app: text}
    if record is None:
        record = AppRecord(accepted=accepted, apps=texts)
    else:
        record = record.with_versions(accepted=accepted, launch=record.launch, texts=texts)
    return Acceptance(state=AcceptanceState.ACCEPTED, active=_active_spec(observed, record))


def plan_active_spec(observed: Observed, active: ActiveSpec, planner: Planner) -> PlanVerdict:
    """Plan the active spec with the counts it was accepted with; there are problems if this release refuses it."""
    accepted = active.accepted
    request = PlanRequest(
        text=active.record.text(accepted),
        counts=accepted.counts,
        previous=None,
        model=_model(observed),
        run_id=accepted.run_id,
        new=False,
    )
    return planner(request)


def inputs_differ(observed: Observed, before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Return whether the counts of streams that the app reads differ; its outputs may appear and grow."""
    model = _model(observed)
    names = set(before) | set(now)
    if model is not None:
        names &= set(model.streams)
    return any(before.get(name) != now.get(name) for name in names)


def _active_spec(observed: Observed, record: AppRecord) -> ActiveSpec:
    app = parse_accepted_app(record.text(record.accepted))
    suspended = app.spec.suspend or observed.app.spec.get("suspend") is True
    return ActiveSpec(record=record, app=app, suspended=suspended)


def _default_run_id(observed: Observed) -> str:
    """Return the run that a spec without a run id belongs to: the one that runs, else a new one."""
    if observed.record is not None:
        return observed.record.accepted.run_id
    return observed.new_run_id if observed.model is None else observed.model.model.run_id


def _model(observed: Observed) -> JobModel | None:
    return None if observed.model is None else observed.model.model


def _names_another_run(observed: Observed) -> bool:
    """Return whether the spec names another run than the one whose documents are lost."""
    wanted = observed.app.spec.get("runId")
    return wanted is not None and wanted != observed.app.status.get("runId")
