"""The CustomResourceDefinition of StreamApp, generated from the spec models (docs/crd.md)."""

import json
from typing import Any

from streamapp_core.crd.cel_rules import CONSTRAINTS, ROOT
from streamapp_core.crd.status_model import StreamAppStatus
from streamapp_core.crd.structural_schema import Schema, structural_schema
from streamapp_core.deployment.spec_defaults import MERGEABLE
from streamapp_core.spec.app import API_VERSION, KIND, StreamAppSpec

_GROUP, _, _VERSION = API_VERSION.partition("/")
_PLURAL = "streamapps"


def custom_resource_definition() -> dict[str, Any]:
    """Return the CustomResourceDefinition, as plain values in the order they should be read."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{_PLURAL}.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": _PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["sapp"],
                "categories": ["all"],
            },
            "versions": [
                {
                    "name": _VERSION,
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": _printer_columns(),
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.processors.count",
                            "statusReplicasPath": ".status.processors.ready",
                            "labelSelectorPath": ".status.selector",
                        },
                    },
                    "schema": {"openAPIV3Schema": _schema()},
                }
            ],
        },
    }


def _schema() -> Schema:
    spec = structural_schema(StreamAppSpec, CONSTRAINTS)
    _leave_open(spec["properties"])
    for entries in ("operators", "imagePullSecrets"):
        spec["properties"][entries] |= _map_by("name")
    status = structural_schema(StreamAppStatus, {})
    status["properties"]["conditions"] |= _map_by("type")
    return {
        "type": "object",
        "description": "A stateful streaming app: streams, tables, a graph of operators, and how to run them.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        **ROOT,
    }


def _leave_open(fields: dict[str, Schema]) -> None:
    """Remove the defaults of fields for which administrators may have others: nobody could tell what users wrote."""
    for name, parts in MERGEABLE.items():
        if not parts:
            fields[name].pop("default", None)
        for part in parts:
            default = fields[name]["properties"][part].pop("default", None)
            if default not in (None, {}):
                _note_default(fields[name]["properties"][part], default)


def _note_default(field: Schema, default: object) -> None:
    text = field.get("description", "")
    field["description"] = f"{text} Default: {json.dumps(default)}, or the cluster's.".strip()


def _map_by(key: str) -> Schema:
    """Return the keywords for a list whose entries have a field as their key: server-side apply merges by it."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


def _printer_columns() -> list[dict[str, Any]]:
    columns = [
        ("Phase", "string", ".status.phase", 0),
        ("Mode", "string", ".status.plan.mode", 0),
        ("Tasks", "integer", ".status.plan.tasks", 0),
        ("Processors", "integer", ".spec.processors.count", 0),
        ("Ready", "integer", ".status.processors.ready", 0),
        ("Run", "string", ".status.runId", 1),
        ("Message", "string", '.status.conditions[?(@.type=="Ready")].message', 1),
        ("Age", "date", ".metadata.creationTimestamp", 0),
    ]
    return [
        {"name": name, "type": kind, "jsonPath": path} | ({"priority": priority} if priority else {})
        for name, kind, path, priority in columns
    ]
