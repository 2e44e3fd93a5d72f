"""Writes the types of the arguments of calls in Python, or checks that those in the repository are up to date.

Each model of the spec is a TypedDict with the descriptions of its fields, which editors show.
"""

import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Any

from crds import ROOT, write_or_check

from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.base import parameter_name

FILE = ROOT / "api" / "streamapp_api" / "call_types.py"
HEADER = '''"""The types of arguments of calls, and of objects among them, which are plain dictionaries.

Made by tools/call_types.py from the models in core/streamapp_core/spec: edit those, and run `make crds`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict
'''

WRITTEN_BY_CALLS = {
    "StreamAppSpec": {"systems", "streams", "tables", "functions", "operators"},
    "StreamSpec": {"system"},
    "TableSpec": {"extractor", "side_inputs"},
    "FunctionSpec": {"function"},
    "PartitionBy": {"key"},
    "Join": {"with_"},
    "JoinTable": {"table"},
    "Process": {"function"},
}
"""The fields that calls have parameters of their own for: these take objects of Python, or stand without a name."""
NO_ARGUMENTS = {"SystemSpec", "OperatorSpec", "Extractor"}

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_WIDTH = 116


def text() -> str:
    """Return the file's text."""
    root = StreamAppSpec.model_json_schema()
    models: dict[str, Any] = {**root.pop("$defs"), StreamAppSpec.__name__: root}
    before = {name: [part for part in sorted(models) if f"/{part}'" in str(models[name])] for name in sorted(models)}
    ordered = [name for name in TopologicalSorter(before).static_order() if _has_arguments(name, models)]
    parts = ["\n".join(_class(name, models)) for name in ordered]
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"]
    whole = "\n\n\n".join([HEADER, *parts])
    return subprocess.run(command, input=whole, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own text


def _has_arguments(name: str, models: Mapping[str, Any]) -> bool:
    return name not in NO_ARGUMENTS and bool(models[name].get("properties"))


def _class(name: str, models: Mapping[str, Any]) -> Iterator[str]:
    model = models[name]
    yield f"class {name}(TypedDict):"
    yield from _docstring(model["description"])
    for field, schema in model["properties"].items():
        parameter = parameter_name(field)
        if parameter not in WRITTEN_BY_CALLS.get(name, ()):
            annotation, required = _annotation(schema, models), field in model.get("required", ())
            yield f"    {parameter}: {annotation if required else f'NotRequired[{annotation}]'}"
            if "description" in schema:
                yield from _docstring(schema["description"])


def _annotation(schema: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """Return the type of the values of a schema; a reference has a name of its own, unless it is of plain values."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name if "properties" in models[name] else _annotation(models[name], models)
    if "enum" in schema or "const" in schema:
        return f"Literal[{', '.join(map(repr, schema.get('enum') or [schema['const']]))}]"
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_annotation(one, models) for one in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"Sequence[{_annotation(schema['items'], models)}]"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"Mapping[str, {_annotation(values, models) if isinstance(values, dict) else 'Any'}]"
    return _SCALARS[schema["type"]]


def _docstring(description: str) -> Iterator[str]:
    lines = textwrap.wrap(f'"""{description}"""', _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield from (f"    {line}" for line in lines)


if __name__ == "__main__":
    write_or_check(FILE, text(), __doc__)
