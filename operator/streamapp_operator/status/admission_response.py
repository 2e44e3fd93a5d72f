"""The answer to a request to judge a resource: all problems at once, each with its place, as kubectl shows them."""

import json
from typing import Any

from streamapp_core.crd.status_model import MAXIMUM_PROBLEMS
from streamapp_operator.decide.admission import AdmissionVerdict
from streamapp_operator.observe.admission_reviews import AdmissionRequest

_UNPROCESSABLE = 422
_SHOWN_STREAMS = 5
_SHOWN_WARNINGS = 5


def build_admission_response(request: AdmissionRequest, verdict: AdmissionVerdict) -> bytes:
    """Return the AdmissionReview that admits an app, or refuses it with its problems."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": not verdict.problems}
    if verdict.problems:
        response["status"] = _build_refusal(request, verdict)
    warnings = [str(warning) for warning in verdict.warnings[:_SHOWN_WARNINGS]]
    if verdict.unknown_streams:
        warnings.append(_warn(verdict.unknown_streams))
    if verdict.too_large:
        warnings.append("a spec of this size is not judged before it is stored; the status will say")
    if warnings:
        response["warnings"] = warnings
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).encode()


def _build_refusal(request: AdmissionRequest, verdict: AdmissionVerdict) -> dict[str, Any]:
    """Return a Status with a cause for each problem."""
    shown = verdict.problems[:MAXIMUM_PROBLEMS]
    more = len(verdict.problems) - len(shown)
    lines = [f"{problem.path}: {problem.code}: {problem.message}" for problem in shown]
    if more:
        lines.append(f"and {more} more")
    causes = [
        {"field": problem.path, "reason": problem.code.value, "message": f"{problem.code}: {problem.message}"}
        for problem in shown
    ]
    return {
        "status": "Failure",
        "reason": "Invalid",
        "code": _UNPROCESSABLE,
        "message": f"{len(verdict.problems)} problems: " + "; ".join(lines),
        "details": {"name": request.app.name, "group": "streamapp.dev", "kind": "StreamApp", "causes": causes},
    }


def _warn(streams: tuple[str, ...]) -> str:
    """Return what was not judged; API servers cut long warnings."""
    shown = ", ".join(streams[:_SHOWN_STREAMS]) + (", ..." if len(streams) > _SHOWN_STREAMS else "")
    return f"not judged yet: whether the topics of {shown} exist, and their partition counts fit; the status will say"
