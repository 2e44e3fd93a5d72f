"""The merge of one pod template into another: a user's into ours, or into an administrator's."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

_MERGED_BY = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
}
"""Lists that are merged by a key of their entries, as in Kubernetes' own merges; other lists are replaced."""


def merge_template(ours: Mapping[str, Any], users: Mapping[str, Any]) -> dict[str, Any]:
    """Merge a template into another: maps by key, the lists above by entry; any other value replaces ours."""
    result = dict(deepcopy(dict(ours)))
    for name, value in users.items():
        before = result.get(name)
        if isinstance(before, dict) and isinstance(value, Mapping):
            result[name] = merge_template(before, value)
        elif isinstance(before, list) and isinstance(value, Sequence) and name in _MERGED_BY:
            result[name] = _merge_entries(before, value, _MERGED_BY[name])
        else:
            result[name] = deepcopy(value)
    return result


def _merge_entries(ours: Sequence[Any], users: Sequence[Any], key: str) -> list[Any]:
    entries = {entry.get(key): entry for entry in ours}
    for entry in users:
        name = entry.get(key) if isinstance(entry, Mapping) else None
        entries[name] = merge_template(entries[name], entry) if name in entries else deepcopy(entry)
    return list(entries.values())
