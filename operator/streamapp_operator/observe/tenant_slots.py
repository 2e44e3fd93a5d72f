"""Slots for what is under way at a time: so many in all, and fewer for one tenant, so that some are left to others."""

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager


class SlotsTakenError(Exception):
    """No slot became free in time."""


class TenantSlots:
    """`total` slots, of which one tenant has at most `per_tenant`; `clock` gives seconds. For many threads."""

    def __init__(self, total: int, per_tenant: int, clock: Callable[[], float]) -> None:
        self._total = total
        self._per_tenant = per_tenant
        self._clock = clock
        self._taken: Counter[Hashable] = Counter()
        self._changed = threading.Condition()

    @contextmanager
    def take(self, tenant: Hashable, timeout: float) -> Iterator[None]:
        """Hold a slot of a tenant.

        Raises:
            SlotsTakenError: none became free in `timeout` seconds.
        """
        with self._changed:
            deadline = self._clock() + timeout
            while not self._is_free(tenant):
                left = deadline - self._clock()
                if left <= 0:
                    raise SlotsTakenError
                self._changed.wait(left)
            self._taken[tenant] += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken[tenant] -= 1
                if not self._taken[tenant]:
                    del self._taken[tenant]
                self._changed.notify_all()

    def _is_free(self, tenant: Hashable) -> bool:
        return self._taken.total() < self._total and self._taken[tenant] < self._per_tenant
