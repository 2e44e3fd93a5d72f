"""The circumstances that a test is run in: none of them may change the results."""

from dataclasses import dataclass

_STEPS = 5
"""The steps of a commit (docs/protocols.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The circumstances of a run of a test.

    `processors` and `partitions`, of intermediate streams, are those of the app where they are None. At most
    `rows_at_once` are fetched together, of partitions in an order that is drawn; None: whatever there is. `deaths` are
    fail-points: the app is killed at each, one after the other, while it goes through the steps of the test, and
    started again.
    """

    name: str
    processors: int | None = None
    partitions: int | None = None
    rows_at_once: int | None = None
    commit_interval: str = "50ms"
    deaths: tuple[str, ...] = ()


AS_IT_IS = Circumstances(name="as it is")

ALL_CIRCUMSTANCES = (
    AS_IT_IS,
    Circumstances(name="row by row, in one processor", processors=1, rows_at_once=1, commit_interval="10ms"),
    Circumstances(name="in three processors, in another order", processors=3, partitions=3, rows_at_once=2),
    Circumstances(
        name="killed before each step of a commit",
        rows_at_once=1,
        commit_interval="10ms",
        deaths=tuple(f"commit-{step}:before:2" for step in range(1, _STEPS + 1)),
    ),
)
