"""The defaults of an administrator for all apps: parts of a spec that are merged below every spec.

They can say how apps run, never what they compute, where their rows are, or how their keys and tasks are made: a spec
means the same on every cluster.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from streamapp_core.deployment.template_merge import merge_template
from streamapp_core.spec.app import API_VERSION, KIND
from streamapp_core.spec.parse import parse_document

MERGEABLE: Mapping[str, tuple[str, ...]] = {
    "image": (),
    "imagePullPolicy": (),
    "imagePullSecrets": (),
    "serviceAccountName": (),
    "job": ("commitInterval", "watermarkInterval"),
    "processors": ("cores", "memory", "state", "template"),
    "driver": ("cores", "memory", "template"),
    "spark": ("conf", "eventLog", "ui"),
    "restartPolicy": ("backoff", "factor", "max", "resetAfter", "maxRestarts"),
    "upgrade": ("deadline", "rollBack"),
}
"""The fields of a spec that may have such a default, and in blocks those of the block. Each counts as a whole but for
templates, which are merged as users' are merged into ours."""
_TEMPLATE = "template"
_WHOLE_APP = {
    "systems": {"log": {"log": {"path": "log"}}},
    "streams": {"rows": {"system": "log", "schema": "a string"}, "more": {"system": "log"}},
    "operators": [{"name": "sent", "from": "rows", "sendTo": "more"}],
}
"""What makes an app of defaults, so that they can be read as the part of a spec that they are."""


def parse_defaults(defaults: object) -> Mapping[str, Any]:
    """Return plain values as defaults.

    Raises:
        ValueError: they are none; the message has everything that is wrong.
    """
    if not isinstance(defaults, dict):
        raise ValueError("defaults are a part of a spec, as an object")  # noqa: TRY004 - as of all that is wrong in them
    refused = sorted(_find_unmergeable(defaults))
    if refused:
        allowed = sorted(f"{name}.{field}" for name, fields in MERGEABLE.items() for field in fields)
        allowed = sorted([*allowed, *(name for name, fields in MERGEABLE.items() if not fields)])
        raise ValueError(f"there can be no default for {', '.join(refused)}, but only for {', '.join(allowed)}")
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": "app"},
        "spec": {**_WHOLE_APP, **defaults},
    }
    problems = parse_document(document).problems
    if problems:
        raise ValueError("\n".join(str(problem) for problem in problems))
    return defaults


def merge_defaults(defaults: Mapping[str, Any], spec: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a spec with the defaults for what it leaves open, and these defaults alone."""
    merged, taken = dict(spec), {}
    for name, value in defaults.items():
        own = spec.get(name)
        if not MERGEABLE[name]:
            if own is None or own == []:
                merged[name] = taken[name] = deepcopy(value)
        elif own is None or isinstance(own, Mapping):
            block, used = _merge_block(value, own or {})
            if used:
                merged[name], taken[name] = block, used
    return merged, taken


def _merge_block(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    merged, taken = dict(own), {}
    for name, value in defaults.items():
        if own.get(name) is None:
            merged[name] = taken[name] = deepcopy(value)
        elif name == _TEMPLATE and isinstance(own[name], Mapping):
            merged[name], taken[name] = merge_template(value, own[name]), deepcopy(value)
    return merged, taken


def _find_unmergeable(defaults: Mapping[str, Any]) -> Iterator[str]:
    for name, value in defaults.items():
        fields = MERGEABLE.get(name)
        if fields is None:
            yield name
        elif fields and isinstance(value, Mapping):
            yield from (f"{name}.{field}" for field in value if field not in fields)
