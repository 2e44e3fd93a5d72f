"""Issues of expressions, all of one text at once."""

from dataclasses import dataclass

from streamapp_core.problems import ProblemCode


@dataclass(frozen=True, slots=True)
class ExpressionIssue:
    """One thing that is wrong with an expression; the caller adds the path of the text."""

    code: ProblemCode
    message: str


class ExpressionError(ValueError):
    """An expression can't be right; `issues` has every reason, in the order of the text."""

    def __init__(self, issues: tuple[ExpressionIssue, ...]) -> None:
        super().__init__("; ".join(issue.message for issue in issues))
        self.issues = issues


class Refusal(Exception):  # noqa: N818 - a signal inside this package, not an error for users
    """One part of an expression is refused; the checker makes an issue of it and continues with the rest."""

    def __init__(self, message: str, code: ProblemCode = ProblemCode.TYPE_MISMATCH) -> None:
        super().__init__(message)
        self.issue = ExpressionIssue(code, message)


def invalid(message: str) -> Refusal:
    """Refuse the form of a part, whatever its types."""
    return Refusal(message, ProblemCode.INVALID_EXPRESSION)
