"""The lowest time among members that come and go."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

MemberT = TypeVar("MemberT", bound=Hashable)


class RisingMinimum(Generic[MemberT]):
    """The lowest time of all members; `value` is the highest that it has been, so it never goes back.

    The value stays where it is while a member has no time yet, and while there are no members. What has ended
    or is idle is no member. A change of any but the lowest member costs next to nothing.
    """

    __slots__ = ("_lowest", "_stale", "_times", "_waiting", "value")

    def __init__(self) -> None:
        self.value: int | None = None
        self._times: dict[MemberT, int] = {}
        self._waiting: set[MemberT] = set()
        self._lowest: int | None = None
        self._stale = False

    def __len__(self) -> int:
        return len(self._times) + len(self._waiting)

    def put(self, member: MemberT, time: int | None) -> None:
        """Add or change a member; None: it has no time yet. The value follows with `advance`."""
        if time is None:
            self.remove(member)
            self._waiting.add(member)
            return
        before = self._times.get(member)
        self._times[member] = time
        self._waiting.discard(member)
        if self._lowest is None or time < self._lowest or before == self._lowest:
            self._stale = True

    def remove(self, member: MemberT) -> None:
        """Forget a member, if it is one. The value follows with `advance`."""
        self._waiting.discard(member)
        if self._times.pop(member, None) == self._lowest:
            self._stale = True

    def reset(self, times: Mapping[MemberT, int | None]) -> None:
        """Replace all members, and advance the value."""
        self._times = {member: time for member, time in times.items() if time is not None}
        self._waiting = set(times) - set(self._times)
        self._stale = True
        self.advance()

    def advance(self) -> None:
        """Raise the value to the minimum, if all members have a time."""
        if self._stale:
            self._lowest = min(self._times.values(), default=None)
            self._stale = False
        if not self._waiting and self._lowest is not None and (self.value is None or self._lowest > self.value):
            self.value = self._lowest

    def lowest_members(self) -> tuple[set[MemberT], int | None]:
        """Return the members that hold the value back: those without a time (and None), or with the lowest (and it)."""
        if self._waiting:
            return set(self._waiting), None
        return {member for member, time in self._times.items() if time == self._lowest}, self._lowest
