"""The fields of a document at a path, for suggestions to users who misspelled one."""

import json
from collections.abc import Iterable, Iterator
from typing import get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from streamapp_core.problems import PathPart

_LONG = 80
"""Characters that an object of a message has at most."""


def fields_at(path: Iterable[PathPart], root: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of the fields at a path of a document, as written in YAML; none where any name is allowed."""
    return tuple(name for model in _models(_annotation_at(path, root)) for name in _fields(model))


def object_form(path: Iterable[PathPart], value: object, root: type[BaseModel]) -> str | None:
    """Return the object to write at a path in the place of a value that is none, as `{every: 10s}`.

    The value goes into the only field that is needed, if it may. None: the fields can be left out or are not known.
    """
    model = next(_models(_annotation_at(path, root)), None)
    if model is None:
        return None
    fields = _fields(model)
    needed = [name for name, field in fields.items() if field.is_required()]
    if fields and not needed:
        return None
    if len(needed) == 1 and _fits(model, {needed[0]: value}):
        written = yaml.safe_dump({needed[0]: value}, default_flow_style=True, width=_LONG).strip()
        if len(written) <= _LONG:
            return written
    return "{" + ", ".join(f"{name}: ..." for name in needed) + "}"


def _fits(model: type[BaseModel], value: object) -> bool:
    try:
        model.model_validate_json(json.dumps(value))
    except ValidationError:
        return False
    return True


def _annotation_at(path: Iterable[PathPart], root: type[BaseModel]) -> object:
    here: object = root
    for part in path:
        model = next(_models(here), None)
        if get_origin(here) in (dict, tuple):
            here = get_args(here)[0 if get_origin(here) is tuple else 1]
        elif model is not None:
            field = _fields(model).get(str(part))
            here = None if field is None else field.annotation
    return here


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) not in (dict, tuple):
        for argument in get_args(annotation):
            yield from _models(argument)
