"""Errors of validation as problems: the path that the person wrote, and words for it."""

import difflib
import json
import re
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from streamapp_core.problems import PathPart, Problem, ProblemCode, path_text
from streamapp_core.spec.base import QUANTITY
from streamapp_core.spec.field_suggestions import fields_at, object_form

_SHOWN = 60
_USER = re.compile(r"(?<=://)[^\s\"]*@")
_MATCH = "string should match pattern '"
PATTERN_WORDS = {
    r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$": "a function of a module, `module:callable`,",
    QUANTITY: "an amount such as `512Mi` or `2Gi`",
    r"^[1-9][0-9]*(k|Ki|M|Mi|G|Gi)$": "a size of files such as `128Mi` or `1Gi`",
    r"^[a-zA-Z0-9]([-._a-zA-Z0-9]*[a-zA-Z0-9])?$": "a name of letters, digits, `-`, `_` and `.`, no sign at its ends,",
    r"^[A-Z0-9-]{1,32}$": "a mechanism in capital letters, such as `SCRAM-SHA-512`,",
    r"^https?://[^\s?#@]+$": "an address such as `https://registry:8081`, without user and query,",
    r"^https?://[^\s?#@/]+/?$": "an address such as `https://minio:9000`, without a path,",
    r"^(sqlite:///[^\s?#]+|postgresql://[^\s?#@/]+/[^\s?#@/]+|https?://[^\s?#@]+)$": (
        "a database such as `postgresql://host:5432/catalogs` or `sqlite:///catalog.db`, or a service such as "
        "`https://host:8181`, without user and query (a login is in `secretName`),"
    ),
    r"^postgresql://[^\s?#@/]+/[^\s?#@/]+$": (
        "a database such as `postgresql://host:5432/shop`, without user and query (a login is in `secretName`),"
    ),
    r"^[a-z_][a-z0-9_]*$": "a name of small letters, digits and `_`",
    r"^[^?#]*$": "a folder without `?` and `#`, after which readers of Iceberg see no more of it,",
    r"^[A-Za-z0-9-]+$": "a name such as `eu-central-1`",
    r"^[A-Za-z0-9][A-Za-z0-9._$-]*$": "a name such as `jdbc`, or of a class,",
    r"^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*$": "a name such as `com.shop.Order`",
    r"^[A-Za-z0-9_][A-Za-z0-9._-]*:[A-Za-z0-9_][A-Za-z0-9._-]*:[A-Za-z]?[0-9][A-Za-z0-9._-]*$": (
        "a package of Maven, `group:artifact:version`,"
    ),
}
"""The words for the patterns of texts, which say nothing to people."""


def written_path(document: object, error: ErrorDetails) -> tuple[PathPart, ...]:
    """Turn pydantic's location into the path that was written in a document (without the tags of unions)."""
    value: Any = document
    path: list[PathPart] = []
    for position, part in enumerate(error["loc"]):
        absent = error["type"] == "missing" and position == len(error["loc"]) - 1
        if isinstance(value, dict) and (part in value or absent):
            value = value.get(part) if isinstance(part, str) else None
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            continue
        path.append(part)
    return tuple(path)


def validation_problem(path: tuple[PathPart, ...], error: ErrorDetails, root: type[BaseModel]) -> Problem:
    """Return the problem at a path of a document whose model is `root`."""
    return Problem(path=path_text(path), code=ProblemCode.INVALID_SPEC, message=_message(path, error, root))


def _message(path: tuple[PathPart, ...], error: ErrorDetails, root: type[BaseModel]) -> str:
    name = path[-1] if path else ""
    match error["type"]:
        case "missing":
            return f"`{name}` is required"
        case "extra_forbidden":
            known = fields_at(path[:-1], root)
            close = difflib.get_close_matches(str(name), known, n=1)
            holders = [field for field in known if name in fields_at((*path[:-1], field), root)]
            if holders:
                hint = f": it is one of `{holders[0]}`"
            elif close:
                hint = f"; did you mean `{close[0]}`?"
            else:
                hint = f"; known here: {', '.join(known)}" if known else ""
            return f"`{shown(name)}` is no field here{hint}"
        case "value_error":
            return error["msg"].removeprefix("Value error, ")
        case "model_type" if (instead := object_form(path, error["input"], root)) is not None:
            return f"an object is expected, not {shown(error['input'])}: write {instead}"
        case "model_type" if known := fields_at(path, root):
            return f"an object is expected, not {shown(error['input'])}; its fields are {', '.join(known)}"
        case _:
            return _mistyped(error)


def _mistyped(error: ErrorDetails) -> str:
    value = error["input"]
    if error["type"] == "too_short" and not value:
        return "it is empty: at least one is needed"
    if error["type"] == "string_too_short" and not value:
        return "it is empty: write a text, or leave the field out where it is optional"
    if error["type"] == "string_type" and isinstance(value, bool | int | float):
        kind = "a boolean" if isinstance(value, bool) else "a number"
        return f"a text is expected, and YAML reads this as {kind}, {shown(value)}: put it in quotes"
    if error["type"] in ("tuple_type", "list_type") and isinstance(value, str):
        return f"a list is expected, not {shown(value)}: write [{shown(value)}]"
    if error["type"] == "string_type" and error["loc"][-1:] == ("schema",) and (columns := _columns(value)):
        return f'a text is expected: write "{shown(columns)}"'
    message = f"{error['msg'][:1].lower()}{error['msg'][1:]}"
    words = PATTERN_WORDS.get(message.removeprefix(_MATCH).removesuffix("'"))
    return f"{message}, not {shown(value)}" if words is None else f"{words} is expected, not {shown(value)}"


def _columns(value: object) -> str:
    """Return the text of columns that were written as an object, or as a list of objects; empty if they are none."""
    if isinstance(value, list):
        pairs = [(item.get("name"), item.get("type")) if isinstance(item, dict) else (None, None) for item in value]
    else:
        pairs = list(value.items()) if isinstance(value, dict) else []
    sound = all(isinstance(part, str) for pair in pairs for part in pair)
    return ", ".join(f"{name} {type_}" for name, type_ in pairs) if sound else ""


def shown(value: object) -> str:
    """Return a value as a message has it: cut off if it is long, and an address without its user and password."""
    text = _USER.sub("...@", value if isinstance(value, str) else json.dumps(value, default=str))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"
