"""The arguments of a call as an object of the spec: names and defaults are those of its model."""

import keyword
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo


class Named:
    """Something declared that others refer to by its name."""

    def __init__(self, owner: object, name: str) -> None:
        """Take what it was declared in, and its name."""
        self.owner = owner
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def write_fields(model: type[BaseModel], arguments: Mapping[str, Any], owner: object) -> dict[str, Any]:
    """Return the object of the spec that these arguments are; those that say what holds anyway are left out.

    Functions stay as they are. Fields of objects that the model lacks keep their names: the parser refuses them.

    Raises:
        ValueError: an argument was declared in another app than `owner`.
    """
    fields = call_parameters(model)
    return {
        fields[name].alias or name: _write(value, fields[name].annotation, owner)
        for name, value in arguments.items()
        if not _holds_anyway(value, fields[name])
    }


def call_parameters(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by the names that they have in calls: in snake case, and no keywords."""
    found = {}
    for name, field in model.model_fields.items():
        written = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", field.alias or name)
        found[f"{written}_" if keyword.iskeyword(written) else written] = field
    return found


def _holds_anyway(value: object, field: FieldInfo) -> bool:
    if value is None:
        return field.default is None or type(None) not in get_args(field.annotation)
    return not field.is_required() and bool(value == field.default)


def _write(value: Any, annotation: object, owner: object) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Named):
        if value.owner is not owner:
            raise ValueError(f"{value} is of another App: declare it in this one, too")
        return value.name
    if isinstance(value, Mapping):
        model = next(_models(annotation), None)
        if model is None:
            return {name: _write(part, None, owner) for name, part in value.items()}
        fields = call_parameters(model)
        known = {name: (field.alias or name, field.annotation) for name, field in fields.items()}
        named = {name: known.get(name, (name, None)) for name in value}
        return {named[name][0]: _write(part, named[name][1], owner) for name, part in value.items()}
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
