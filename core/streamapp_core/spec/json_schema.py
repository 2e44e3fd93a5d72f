"""The JSON schema of StreamApp files, for editors: fields and values are completed, explained and checked while typed.

What no schema can say (an operator has one kind, a stream exists) is said by `streamapp plan`.
"""

from collections.abc import Mapping

from pydantic import BaseModel, JsonValue

from streamapp_core.spec.app import StreamApp

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_BY_NAME = ("properties", "$defs")
"""Keywords whose objects have names of fields and models, not keywords."""


def app_json_schema() -> dict[str, JsonValue]:
    """Return the JSON schema of a StreamApp resource, with a description of every field."""
    return editor_schema(StreamApp, "StreamApp")


def editor_schema(model: type[BaseModel], title: str) -> dict[str, JsonValue]:
    """Return the JSON schema of the documents of a model.

    The names that pydantic derives as titles are left out: editors show them in front of the descriptions.
    """
    return {"$schema": DIALECT, "title": title} | _without_titles(model.model_json_schema())


def _without_titles(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Leave titles out of a schema and of all below it."""
    return {keyword: _part(value, keyword) for keyword, value in schema.items() if keyword != "title"}


def _part(value: JsonValue, keyword: str) -> JsonValue:
    if isinstance(value, list):
        return [_part(entry, keyword) for entry in value]
    if not isinstance(value, dict):
        return value
    if keyword in _BY_NAME:
        return {name: _part(schema, "") for name, schema in value.items()}
    return _without_titles(value)
