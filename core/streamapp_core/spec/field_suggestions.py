"""The fields of the resource at a path, for suggestions to users who misspelled one."""

from collections.abc import Iterable, Iterator
from typing import get_args, get_origin

from pydantic import BaseModel

from streamapp_core.problems import PathPart
from streamapp_core.spec.app import StreamApp


def fields_at(path: Iterable[PathPart]) -> tuple[str, ...]:
    """Return the names of the fields at a path of the resource, as written in YAML; none where any name is allowed."""
    here: object = StreamApp
    for part in path:
        model = next(_models(here), None)
        if get_origin(here) in (dict, tuple):
            here = get_args(here)[0 if get_origin(here) is tuple else 1]
        elif model is not None:
            field = next((f for n, f in model.model_fields.items() if (f.alias or n) == part), None)
            here = None if field is None else field.annotation
    return tuple(field.alias or name for model in _models(here) for name, field in model.model_fields.items())


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) not in (dict, tuple):
        for argument in get_args(annotation):
            yield from _models(argument)
