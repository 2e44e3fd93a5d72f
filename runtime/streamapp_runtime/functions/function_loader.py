"""The import of an app's functions, and the path it searches."""

import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from zipfile import is_zipfile

from streamapp_core.plan.plan import Plan
from streamapp_core.problems import Problem, ProblemCode
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.functions.extractor import Extractor
from streamapp_runtime.functions.process_function import UserFunction
from streamapp_runtime.functions.scalar_function import ScalarFunction, ScalarFunctions
from streamapp_runtime.functions.user_errors import USER_EXCEPTIONS, describe_error
from streamapp_systems.arrow_types import arrow_schema, arrow_type

_FRAMES = 2
"""Frames between us and a module: this one and importlib's."""

_IMPORTING = threading.Lock()
"""Processors in one process import the same modules; one that fails in one thread is half removed in another."""


def python_path(py_files: Sequence[str], folder: Path) -> list[str]:
    """Return where modules of an app are searched: in its file's folder, then in `pyFiles`, relative to that folder.

    Raises:
        RuntimeFailure: one of them does not exist, or is no Python code.
    """
    path = [folder]
    for index, name in enumerate(py_files):
        found = folder / name
        if found.suffix == ".py" and found.is_file():
            path.append(found.parent)
        elif found.is_dir() or is_zipfile(found):
            path.append(found)
        else:
            raise RuntimeFailure(f"spec.pyFiles[{index}]: there is no folder, zip or .py file {found}")
    return list(dict.fromkeys(map(str, path)))


def load_functions(plan: Plan, folder: Path) -> dict[str, UserFunction]:
    """Import what users wrote for all `process` operators into this interpreter, by operator.

    What Python finds without the app's path comes first, so no module of an app replaces another.

    Raises:
        RuntimeFailure: a function can't be imported; the message names it and its operator.
    """
    functions: dict[str, UserFunction] = {}
    for index, declared in enumerate(plan.app.spec.operators):
        if declared.process is not None:
            where = f"spec.operators[{index}].process.function: operator `{declared.name}`"
            functions[declared.name] = _load(declared.process.function, plan, folder, where)
    return functions


def load_extractors(plan: Plan, folder: Path) -> dict[str, Extractor]:
    """Import the extractors of all tables, as `load_functions` does: one by the name of each table that has one.

    Raises:
        RuntimeFailure: an extractor can't be imported; the message names it and its table.
    """
    extractors: dict[str, Extractor] = {}
    for table in plan.tables.values():
        if table.spec.extractor is not None:
            where = f"spec.tables.{table.name}.extractor.function: table `{table.name}`"
            (key_type,) = table.key_types
            key, columns, name = arrow_type(key_type), arrow_schema(table.schema), table.spec.extractor.function
            extractors[table.name] = Extractor(name, _load(name, plan, folder, where), key, columns)
    return extractors


def load_scalar_functions(plan: Plan, folder: Path) -> ScalarFunctions:
    """Import the functions that expressions call, as `load_functions` does.

    Raises:
        RuntimeFailure: a function can't be imported; the message names it.
    """
    functions = {}
    for signature in plan.functions:
        spec = plan.app.spec.functions[signature.name]
        where = f"spec.functions.{signature.name}.function: function `{signature.name}`"
        loaded = _load(spec.function, plan, folder, where)
        functions[signature.sql_name] = ScalarFunction(spec.function, loaded, signature, by_row=spec.rows)
    return ScalarFunctions(functions)


def find_code_problems(plan: Plan, folder: Path) -> tuple[Problem, ...]:
    """Return what keeps the code of an app from being imported here, as a processor does it. Nothing stays loaded."""
    before, entries = set(sys.modules), list(sys.path)
    try:
        python_path(plan.app.spec.py_files, folder)
        loaders = (load_functions, load_extractors, load_scalar_functions)
        failures = [_failure(partial(load, plan, folder)) for load in loaders]
    except RuntimeFailure as failure:
        failures = [str(failure)]
    own = [entry for entry in sys.path if entry not in entries]
    for name in set(sys.modules) - before:
        if any((getattr(sys.modules[name], "__file__", None) or "").startswith(entry) for entry in own):
            del sys.modules[name]
    sys.path[:] = entries
    return tuple(_problem(failure) for failure in failures if failure is not None)


def _failure(load: Callable[[], object]) -> str | None:
    try:
        load()
    except RuntimeFailure as failure:
        return str(failure)
    return None


def _problem(failure: str) -> Problem:
    path, _, message = failure.partition(": ")
    return Problem(path=path, code=ProblemCode.INVALID_SPEC, message=message)


def _extend_path(entries: Sequence[str]) -> None:
    sys.path.extend(entry for entry in entries if entry not in sys.path)
    importlib.invalidate_caches()


def _load(name: str, plan: Plan, folder: Path, where: str) -> UserFunction:
    module_name, _, attribute = name.partition(":")
    with _IMPORTING:
        _extend_path(python_path(plan.app.spec.py_files, folder))
        try:
            module = importlib.import_module(module_name)
        except USER_EXCEPTIONS as error:
            raise RuntimeFailure(
                f"{where}: module `{module_name}` can't be imported: {describe_error(error, _FRAMES)}; put it beside "
                "the app's file, or name it in spec.pyFiles"
            ) from error
    function: UserFunction | None = getattr(module, attribute, None)
    if not callable(function):
        file = getattr(module, "__file__", None)
        raise RuntimeFailure(f"{where}: module `{module_name}` ({file or 'built in'}) has no function `{attribute}`")
    return function
