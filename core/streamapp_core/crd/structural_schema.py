"""Pydantic models to structural schemas: the form of OpenAPI that Kubernetes takes in a CustomResourceDefinition.

A structural schema states the type of every field once, in place: no `$ref`, no unions of types, no
`additionalProperties` beside `properties`. Unknown fields are no part of it: the API server drops them, and refuses
them where the client asks for that (kubectl does).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]
Constraints = Mapping[type[BaseModel], Mapping[str, Any]]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
_KEPT = (
    "type",
    "description",
    "enum",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
    PRESERVE,
)
_ABOUT_THE_WHOLE = ("type", "description", "default", "nullable")


def structural_schema(model: type[BaseModel], constraints: Constraints) -> Schema:
    """Return the structural schema of a model, with all models in it written out where they are used.

    `constraints` adds keywords to the schemas of models: rules that no field states alone.

    A field that may be null needs no mark if null is its default: Kubernetes drops nulls. Only where null differs from
    the default is the field `nullable`.
    """
    document = model.model_json_schema()
    added = {described.__name__: keywords for described, keywords in constraints.items()}
    writer = _Writer(document.get("$defs", {}), added)
    return writer.structural(document | {"$ref": f"#/$defs/{model.__name__}"}, repeated=False)


class _Writer:
    """Writes JSON schemas as structural ones. `repeated`: below an entry of a list or map."""

    def __init__(self, models: Mapping[str, Schema], added: Mapping[str, Mapping[str, Any]]) -> None:
        self.models = models
        self.added = added

    def structural(self, node: Schema, *, repeated: bool) -> Schema:
        """Write one schema and all below it."""
        node, keywords = self._referred(node)
        branches = [self.structural(branch, repeated=repeated) for branch in _not_null(node.get("anyOf", ()))]
        schema = _union(branches) | {keyword: node[keyword] for keyword in _KEPT if keyword in node}
        if node.get("additionalProperties") is True:
            schema[PRESERVE] = True
        entries = _entries(node)
        if entries is not None:
            schema["additionalProperties"] = self.structural(entries, repeated=True)
        if "items" in node:
            schema["items"] = self.structural(node["items"], repeated=True)
        if node.get("properties"):  # Kubernetes drops an empty one, and every comparison would show that
            schema["properties"] = {
                name: self._field(field, repeated=repeated) for name, field in node["properties"].items()
            }
        if "description" in schema:
            schema["description"] = " ".join(schema["description"].split())
        return schema | dict(keywords)

    def _referred(self, node: Schema) -> tuple[Schema, Mapping[str, Any]]:
        if "$ref" not in node:
            return node, {}
        name = node["$ref"].rpartition("/")[2]
        return self.models.get(name, {}) | node, self.added.get(name, {})

    def _field(self, node: Schema, *, repeated: bool) -> Schema:
        schema = self.structural(node, repeated=repeated)
        default = _default(node.get("default"), schema)
        if default is None or (repeated and isinstance(default, dict | list)):
            return schema  # a block that is absent is read as its defaults: no need to store them with every entry
        schema["default"] = default
        if {"type": "null"} in node.get("anyOf", ()):
            schema["nullable"] = True
        return schema


def _not_null(branches: Sequence[Schema]) -> list[Schema]:
    return [branch for branch in branches if branch != {"type": "null"}]


def _union(branches: Sequence[Schema]) -> Schema:
    """Merge alternatives of different types: each keyword but the type concerns the values of one type only.

    A field without type must preserve unknown fields; their maximum number excludes others.
    """
    if len(branches) <= 1:
        return branches[0] if branches else {}
    merged: Schema = {PRESERVE: True}
    for branch in branches:
        merged |= {keyword: value for keyword, value in branch.items() if keyword not in _ABOUT_THE_WHOLE}
        if "properties" in branch:
            merged["maxProperties"] = len(branch["properties"])
    return merged


def _entries(node: Schema) -> Schema | None:
    """Return the schema of a map's values. A structural schema can't describe its keys."""
    by_pattern: Mapping[str, Schema] = node.get("patternProperties", {})
    if by_pattern:
        (entries,) = by_pattern.values()
        return entries
    return node["additionalProperties"] if isinstance(node.get("additionalProperties"), dict) else None


def _default(value: object, schema: Schema) -> object:
    """Reduce a default to the fields in it that have other defaults of their own."""
    if not isinstance(value, dict):
        return value
    fields = schema.get("properties", {})
    reduced = {name: _default(part, fields.get(name, {})) for name, part in value.items()}
    return {
        name: part for name, part in reduced.items() if part is not None and part != fields.get(name, {}).get("default")
    }
