"""The declarations of scalar functions: their names, and the types that they take and return (docs/functions.md)."""

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp

from streamapp_core.expressions import KNOWN_FUNCTIONS, ExpressionError, FunctionSignature, UserFunctions
from streamapp_core.expressions.parsing import parse_items
from streamapp_core.expressions.time_zones import app_zone
from streamapp_core.plan.problem_collector import ProblemCollector
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.schema import SchemaError, parse_type
from streamapp_core.spec.functions import FunctionSpec

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_NAME = 63


def read_functions(
    declared: Mapping[str, FunctionSpec], time_zone: str, broken: frozenset[str], collector: ProblemCollector
) -> UserFunctions:
    """Find the signatures of the functions of an app; problems go to `collector`.

    Args:
        declared: the functions by name.
        time_zone: that of the app.
        broken: names whose declarations could not be read.
        collector: collects the problems of names and types.
    """
    collector.problems += _check_names(declared)
    signatures = {name: _signature(name, spec, collector) for name, spec in declared.items()}
    unknown = {name.lower() for name, signature in signatures.items() if signature is None}
    return UserFunctions(
        signatures=tuple(signature for signature in signatures.values() if signature is not None),
        unknown=broken | unknown,
        time_zone=app_zone(time_zone),
    )


def _signature(name: str, spec: FunctionSpec, collector: ProblemCollector) -> FunctionSignature | None:
    path = f"spec.functions.{name}"
    parameters = None if spec.parameters is None else collector.parse(f"{path}.parameters", spec.parameters)
    try:
        result = parse_type(spec.returns)
    except SchemaError as error:
        collector.add(f"{path}.returns", ProblemCode.INVALID_SPEC, str(error))
        return None
    if parameters is None and spec.parameters is not None:
        return None
    return FunctionSignature(name, parameters, result)


def _check_names(declared: Mapping[str, FunctionSpec]) -> Iterator[Problem]:
    taken: dict[str, str] = {}
    for name in declared:
        path, lower = f"spec.functions.{name}", name.lower()
        if not _IDENTIFIER.fullmatch(name) or len(name) > _MAX_NAME or not _can_be_called(name):
            yield Problem(
                path=path,
                code=ProblemCode.INVALID_NAME,
                message=f"`{name[:_MAX_NAME]}` can't be called in SQL; use at most {_MAX_NAME} letters, digits and "
                "`_`, not beginning with a digit, and no keyword",
            )
        elif lower in KNOWN_FUNCTIONS:
            message = f"`{name}` is a function of Spark; give yours another name"
            yield Problem(path=path, code=ProblemCode.DUPLICATE_NAME, message=message)
        elif lower in taken:
            message = f"`{name}` and `{taken[lower]}` differ in case only, which makes no difference in SQL"
            yield Problem(path=path, code=ProblemCode.DUPLICATE_NAME, message=message)
        taken.setdefault(lower, name)


def _can_be_called(name: str) -> bool:
    try:
        (call,) = parse_items(f"{name}(1)")
    except (ExpressionError, ValueError):
        return False
    return isinstance(call, exp.Anonymous) and call.this == name
