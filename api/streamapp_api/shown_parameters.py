"""Signatures for people: a call that takes the fields of a TypedDict shows each of them, in notebooks and `help`."""

import inspect
from collections.abc import Callable
from typing import Any, NotRequired, TypeVar, get_args, get_origin, get_type_hints

_Call = TypeVar("_Call", bound=Callable[..., Any])


def show_parameters(call: _Call) -> _Call:
    """Return a call whose signature has the fields of its `**fields: Unpack[...]`; `...` stands for their defaults."""
    signature = inspect.signature(call)
    *first, fields = signature.parameters.values()
    (typed,) = get_args(fields.annotation)
    shown = [_parameter(name, annotation) for name, annotation in get_type_hints(typed, include_extras=True).items()]
    vars(call)["__signature__"] = signature.replace(parameters=[*first, *shown])
    return call


def _parameter(name: str, annotation: Any) -> inspect.Parameter:  # noqa: ANN401 - a type
    optional = get_origin(annotation) is NotRequired
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=... if optional else inspect.Parameter.empty,
        annotation=get_args(annotation)[0] if optional else annotation,
    )
