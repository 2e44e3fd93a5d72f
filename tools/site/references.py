"""References that are generated: the commands from the command line, the spec from its models."""

from collections.abc import Iterator, Mapping
from typing import Any

from typer import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

from streamapp_cli.main import app
from streamapp_core.spec.json_schema import app_json_schema

_FIRST = ("StreamAppSpec", "SystemSpec", "StreamSpec", "OperatorSpec", "TableSpec", "JobSpec", "ProcessorsSpec")


def command_reference() -> str:
    """Return the page of all commands, with their arguments and options, as their help has them."""
    command = get_command(app)
    text = get_docs_for_click(obj=command, ctx=Context(command, info_name="streamapp"), name="streamapp")
    return text.replace("# `streamapp`", "# Commands", 1)


def spec_reference() -> str:
    """Return the page of all objects of a StreamApp, with their fields, from the schema of editors."""
    schema: Any = app_json_schema()
    models: Mapping[str, Mapping[str, Any]] = schema["$defs"]
    names = [*_FIRST, *sorted(models.keys() - set(_FIRST))]
    parts = ["# Fields of a StreamApp", "Every object and its fields, as editors know them by `streamapp schema`."]
    parts += ["\n".join([f"## {name}", "", *_model(models[name])]) for name in names]
    return "\n\n".join(parts) + "\n"


def _model(model: Mapping[str, Any]) -> Iterator[str]:
    yield model.get("description", "")
    yield ""
    if "enum" in model:
        yield f"One of {', '.join(f'`{value}`' for value in model['enum'])}."
        return
    required = model.get("required", ())
    yield "| field | value | |"
    yield "|---|---|---|"
    for name, field in model.get("properties", {}).items():
        told = [field.get("description", "")]
        if name in required:
            told.insert(0, "Required.")
        elif field.get("default") not in (None, [], {}):
            told.append(f"Default: `{_cell(field['default'])}`.")
        yield f"| `{name}` | {_type(field)} | {' '.join(told).replace('|', '&#124;').replace(chr(10), ' ')} |"


def _type(field: Mapping[str, Any]) -> str:
    """Return the values of a field in words, with links to the objects that they are."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        kinds = [_type(one) for one in field["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "const" in field or "enum" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    kind = field.get("type", "anything")
    if kind == "array":
        return f"list of {_type(field.get('items', {}))}"
    if kind == "object":
        held = field.get("additionalProperties")
        return f"object of {_type(held)}" if isinstance(held, Mapping) else "object"
    return {"string": "text", "integer": "whole number"}.get(kind, str(kind))


def _cell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).replace("|", "&#124;")
