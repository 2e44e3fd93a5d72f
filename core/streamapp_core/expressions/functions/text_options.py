"""Options of functions that read and write texts: a map of text literals, such as `map('dateFormat', 'dd/MM/yyyy')`."""

from collections.abc import Collection, Mapping

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Parameter
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import TypeKind

OPTIONS = Parameter("options", Accepts.ANY)
_WRITE_PATTERNS = {
    TypeKind.DATE: ("dateformat", "yyyy-MM-dd"),
    TypeKind.TIMESTAMP: ("timestampformat", "yyyy-MM-dd'T'HH:mm:ss.SSSXXXXX"),
    TypeKind.TIMESTAMP_NTZ: ("timestampntzformat", "yyyy-MM-dd'T'HH:mm:ss.SSS"),
}
"""The names of the options for the patterns by which values are written, and what they are where nothing is given."""


def text_options(options: Value | None, function: str, known: str, others: Collection[str] = ()) -> Mapping[str, str]:
    """Return the options of a call by their names in lower case.

    `known` names them as messages do, with commas between them; `others` are taken too, and not told.

    Raises:
        Refusal: They are no text literals, or there is no such option.
    """
    if options is None:
        return {}
    if options.pairs is None:
        raise invalid(f"the options of {function} are text literals, as in map('timestampFormat', 'dd/MM/yyyy')")
    given = {name.lower(): setting for name, setting in options.pairs}
    if unknown := given.keys() - {*known.lower().split(", "), *others}:
        raise invalid(f"{function} has no option {min(unknown)}; it has {known}")
    return given


def flag_option(given: Mapping[str, str], name: str, function: str, *, usual: bool) -> bool:
    """Return the option of a call that is true or false.

    Raises:
        Refusal: It is something else.
    """
    flag = given.get(name.lower(), str(usual)).lower()
    if flag not in ("true", "false"):
        raise invalid(f"option {name} of {function} is 'true' or 'false', not '{flag[:40]}'")
    return flag == "true"


def write_patterns(given: Mapping[str, str]) -> Mapping[TypeKind, str]:
    """Return the patterns by which dates and timestamps are written."""
    return {kind: given.get(name, usual) for kind, (name, usual) in _WRITE_PATTERNS.items()}
