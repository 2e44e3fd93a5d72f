"""Functions of an app that were given as objects: how the spec names them, and how workers find them."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from streamapp_core.problems import PathPart, Problem, ProblemCode, path_text

InPlaceFunction = Callable[..., Any] | str
"""A function, a class, or `module:name`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFunctions:
    """A document in which functions are names: `in_place` has those that stand in no module, by their names."""

    document: dict[str, Any]
    in_place: Mapping[str, Callable[..., Any]]
    problems: tuple[Problem, ...]


def name_functions(document: dict[str, Any], module: str) -> NamedFunctions:
    """Return a document with `module:name` in the places of functions; there is a problem for each in no module.

    Those are named as if they were in the module `module`.
    """
    in_place: dict[str, Callable[..., Any]] = {}
    problems: list[Problem] = []

    def named(value: Any, path: tuple[PathPart, ...]) -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, dict):
            return {name: named(part, (*path, name)) for name, part in value.items()}
        if isinstance(value, list):
            return [named(part, (*path, index)) for index, part in enumerate(value)]
        if not callable(value):
            return value
        found = _importable_name(value)
        if found is not None:
            return found
        name = _name_in_place(document, path)
        in_place[name] = value
        problems.append(_unnamed(value, path))
        return f"{module}:{name}"

    return NamedFunctions(document=named(document, ()), in_place=in_place, problems=tuple(problems))


@contextmanager
def importable(functions: Mapping[str, Callable[..., Any]], module: str) -> Iterator[None]:
    """Make functions importable from a module of this name, in this process and until the block ends.

    Raises:
        ValueError: there is such a module: the app runs in this process already.
    """
    if not functions:
        yield
        return
    if module in sys.modules:
        raise ValueError("this app runs already in this process: wait for its end, or give the app another name")
    made = ModuleType(module, "Functions that were given as objects.")
    vars(made).update(functions)
    sys.modules[module] = made
    try:
        yield
    finally:
        del sys.modules[module]


def _importable_name(function: Callable[..., Any]) -> str | None:
    """Return `module:name` of a function that is found there; None of all others."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if module in (None, "__main__") or name is None or not name.isidentifier():
        return None
    return f"{module}:{name}" if getattr(sys.modules.get(module), name, None) is function else None


def _name_in_place(document: dict[str, Any], path: tuple[PathPart, ...]) -> str:
    """Return a name of its own for the function at a path, which is the same in each run of the app."""
    _, section, entry, *_ = path
    owner = document["spec"][section][entry]["name"] if section == "operators" else entry
    return f"{section}_{owner}".replace("-", "_")


def _unnamed(function: Callable[..., Any], path: tuple[PathPart, ...]) -> Problem:
    name = getattr(function, "__qualname__", None) or repr(function)
    module = getattr(function, "__module__", None)
    return Problem(
        path=path_text(path),
        code=ProblemCode.INVALID_SPEC,
        message=f"`{name}` can't be imported from a module: {_reason(module, name)}. It runs in this process only, by "
        "`app.run()`. Put it at the top of a module beside the app, or in one of `py_files`, and import it from there",
    )


def _reason(module: object, name: str) -> str:
    if module == "__main__":
        return "it stands in the script or notebook itself"
    if not name.isidentifier():
        return "it is no function or class at the top of a module"
    return f"`{module}` has something else of this name, or nothing"
