"""The verdict on a resource before it is stored, for dry runs and `kubectl apply` (docs/operator.md).

Nobody is asked for it: an answer must not take long, and anybody in the cluster may send such a request. So the
partition counts are those that are known already; a stream without one is not judged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streamapp_core.deployment.app_record import AppRecord, digest
from streamapp_core.plan.planner import DEFAULT_RUN_ID
from streamapp_core.problems import PlanWarning, Problem, ProblemCode, sorted_problems
from streamapp_core.spec.app import StreamApp
from streamapp_operator.decide.validation import Planner, PlanRequest
from streamapp_operator.observe.admission_reviews import AdmissionRequest
from streamapp_operator.observe.app_text import read_app
from streamapp_operator.observe.document_recovery import RunDocuments
from streamapp_operator.observe.file_settings import find_file_settings

_ALWAYS_READ = ("suspend", "deletionPolicy")
_LARGEST_TEXT = 300_000
"""Characters; a larger spec takes longer than API servers wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionVerdict:
    """All problems for which a resource is refused, and its streams on brokers whose partition counts are not known.

    If it is `too_large` it was not judged. `warnings` are those of its plan.
    """

    problems: tuple[Problem, ...] = ()
    unknown_streams: tuple[str, ...] = ()
    too_large: bool = False
    warnings: tuple[PlanWarning, ...] = ()


def judge_admission(
    request: AdmissionRequest,
    documents: RunDocuments | None,
    counts: Mapping[str, int],
    planner: Planner,
) -> AdmissionVerdict:
    """Judge a resource that is about to be stored.

    Args:
        request: the app as it would be, and its stored spec.
        documents: those of its run; None for a new app.
        counts: the partition counts of its streams, as far as they are known.
        planner: judges the spec with them.
    """
    resource = request.app
    record = None if documents is None else documents.record
    if _is_judged_already(request, record):
        return AdmissionVerdict()
    if len(resource.text) > _LARGEST_TEXT:
        return AdmissionVerdict(too_large=True)
    app = read_app(resource.text).app
    unknown = () if app is None else _find_unknown(app, counts)
    model = None if documents is None or documents.model is None else documents.model.model
    verdict = planner(
        PlanRequest(
            text=resource.text,
            counts=counts,
            previous=None if record is None else record.text(record.accepted),
            model=model,
            run_id=DEFAULT_RUN_ID if record is None else record.accepted.run_id,
            new=True,
        )
    )
    not_judged = {(f"spec.streams.{name}", ProblemCode.STREAM_NOT_FOUND) for name in unknown}
    problems = [problem for problem in verdict.problems if (problem.path, problem.code) not in not_judged]
    on_files = () if app is None else find_file_settings(app)
    return AdmissionVerdict(
        problems=sorted_problems([*problems, *on_files]),
        unknown_streams=unknown,
        warnings=() if verdict.plan is None else verdict.plan.warnings,
    )


def _is_judged_already(request: AdmissionRequest, record: AppRecord | None) -> bool:
    """Return whether a resource goes, is the accepted one again, or changes only what counts in any spec."""
    resource, before = request.app, request.before
    if resource.deleting or (record is not None and record.accepted.app == digest(resource.text)):
        return True
    return before is not None and _leave_out_always_read(before) == _leave_out_always_read(resource.spec)


def _leave_out_always_read(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a spec without the fields that are obeyed even in one that is refused."""
    return {name: value for name, value in spec.items() if name not in _ALWAYS_READ}


def _find_unknown(app: StreamApp, counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the streams on brokers that have no known count."""
    return tuple(
        name
        for name, stream in sorted(app.spec.streams.items())
        if name not in counts
        and (system := app.spec.systems.get(stream.system)) is not None
        and system.kafka is not None
    )
