"""Named arguments, as in `explode(collection => a)`, of the functions that Spark gives names to."""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions import GENERATOR_NAMES

_SIGNATURES: Mapping[str, Mapping[str, str | None]] = {
    "mask": {"str": None, "upperchar": "X", "lowerchar": "x", "digitchar": "n", "otherchar": ""},
    **{
        name: {"input" if name.startswith("inline") else "collection": None}
        for name in GENERATOR_NAMES
        if not name.startswith("stack")
    },
}
"""The names of arguments in order, in lower case, with the text of each that may be left out; an empty one is null."""


def by_position(name: str, arguments: Sequence[exp.Expr]) -> list[exp.Expr]:
    """Return the arguments of a call in the order of the function's parameters.

    Raises:
        Refusal: The function has no names for them, or not these; or one is missing or given twice.
    """
    if not any(isinstance(argument, exp.Kwarg) for argument in arguments):
        return list(arguments)
    names = _SIGNATURES.get(name)
    if names is None:
        raise invalid(f"{name} takes its arguments by position, without names")
    given: dict[str, exp.Expr] = {}
    for place, argument in enumerate(arguments):
        if isinstance(argument, exp.Kwarg):
            key, value = str(argument.this.name).lower(), argument.args["expression"]
        elif any(isinstance(earlier, exp.Kwarg) for earlier in arguments[:place]):
            raise invalid(f"{name}: arguments without a name stand before those with one")
        else:
            key, value = next(iter(list(names)[place:]), ""), argument
        if key not in names or key in given:
            raise invalid(f"{name} takes each of the arguments {', '.join(names)} once, got `{key[:80]}`")
        given[key] = value
    return [given.get(key) or _default(name, key, text) for key, text in names.items()]


def _default(name: str, key: str, text: str | None) -> exp.Expr:
    if text is None:
        raise invalid(f"{name}: the argument {key} is missing")
    return exp.Literal.string(text) if text else exp.Null()
