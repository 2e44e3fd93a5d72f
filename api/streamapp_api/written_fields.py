"""The arguments of a call as an object of the spec: names are those of its model."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from streamapp_core.spec.base import parameter_name


class Named:
    """Something declared that others refer to by its name."""

    def __init__(self, owner: object, name: str) -> None:
        """Take what it was declared in, and its name."""
        self.owner = owner
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def write_fields(model: type[BaseModel], arguments: Mapping[str, Any], owner: object) -> dict[str, Any]:
    """Return the object of the spec that these arguments are; functions stay as they are.

    Raises:
        TypeError: the model has no field of such a name, or a length of time is no text.
        ValueError: an argument was declared in another app than `owner`.
    """
    fields = call_parameters(model)
    for name in arguments:
        if name not in fields:
            raise TypeError(_unknown(name, model, fields))
    return {
        fields[name].alias or name: _write(value, fields[name].annotation, owner) for name, value in arguments.items()
    }


def call_parameters(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by the names that they have in calls."""
    return {parameter_name(field.alias or name): field for name, field in model.model_fields.items()}


def _unknown(name: str, model: type[BaseModel], known: Mapping[str, object]) -> str:
    (*_, nearest) = ("", *get_close_matches(parameter_name(name), known, n=1))
    meant = f": did you mean `{nearest}`?" if nearest else f"; there are {', '.join(known)}"
    return f"{model.__name__} has no field `{name}`{meant}"


def _write(value: Any, annotation: object, owner: object) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Named):
        if value.owner is not owner:
            raise ValueError(f"{value} is of another App: declare it in this one, too")
        return value.name
    if isinstance(value, timedelta):
        raise TypeError(f"a length of time is a text, such as '5m' or '1.5s', and no timedelta ({value})")
    if isinstance(value, Mapping):
        model = next(_models(annotation), None)
        if model is not None:
            return write_fields(model, value, owner)
        return {name: _write(part, None, owner) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_write(part, annotation, owner) for part in value]
    return value


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models that an object or a list of objects may be; none of a mapping, whose names are its own."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not dict:
        for argument in get_args(annotation):
            yield from _models(argument)
