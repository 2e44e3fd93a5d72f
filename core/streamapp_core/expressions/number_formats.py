"""The formats of `to_char` and `to_number`: digits, separators, a sign and a currency sign, in a fixed order."""

import re
from dataclasses import dataclass
from enum import Enum

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.schema import MAX_PRECISION


class Sign(Enum):
    """A sign of a format: before or behind the number."""

    PLUS_OR_MINUS = "S"
    MINUS = "MI"


@dataclass(frozen=True, slots=True)
class DigitGroup:
    """So many digits between separators; those that are missing are zeros, or may be left out."""

    size: int
    zeros: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """A format: its signs, its groups of digits before the point, and how many digits are behind it."""

    before: Sign | None
    behind: Sign | None
    brackets: bool
    currency: bool
    groups: tuple[DigitGroup, ...]
    point: bool
    places: int

    @property
    def whole_digits(self) -> int:
        """The number of digits before the point."""
        return sum(group.size for group in self.groups)


_FORMAT = re.compile(
    r"(?P<before>MI|S)?(?P<currency>\$)?(?P<groups>[09]+(?:[,G][09]+)*)?(?P<point>[.D](?P<places>[09]*))?"
    r"(?P<behind>MI|S|PR)?"
)


def parse_number_format(text: str) -> NumberFormat:
    """Read a format, in any case of its letters.

    Raises:
        Refusal: It is none.
    """
    match = _FORMAT.fullmatch(text.upper())
    groups = match["groups"] or "" if match else ""
    places = match["places"] or "" if match else ""
    digits = len(re.sub("[,G]", "", groups)) + len(places)
    doubled = match is not None and match["before"] is not None and match["before"] == match["behind"]
    if match is None or not digits or digits > MAX_PRECISION or doubled:
        raise invalid(
            f"'{text[:40]}' is no format of numbers: [MI|S] [$] digits 0 or 9, in groups parted by commas, "
            "[. digits] [MI|S|PR], of 38 digits at most"
        )
    written = [DigitGroup(len(group), group.startswith("0")) for group in re.split("[,G]", groups) if group]
    brackets = match["behind"] == "PR"
    return NumberFormat(
        before=Sign(match["before"]) if match["before"] else None,
        behind=Sign(match["behind"]) if match["behind"] and not brackets else None,
        brackets=brackets,
        currency=match["currency"] is not None,
        groups=tuple(written),
        point=match["point"] is not None,
        places=len(places),
    )
