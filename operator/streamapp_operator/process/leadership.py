"""Whether this operator acts: always, or as long as it is the elected one of several (docs/install.md)."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from streamapp_operator.process.leader_election import LeaderElection
from streamapp_systems.kubernetes.kubernetes_api import KubernetesError

_LAST_REQUESTS_SECONDS = 15.0
"""An election that is stopped has at most two requests under way."""
_log = structlog.get_logger()


class NotLeaderError(KubernetesError):
    """This operator does not hold the lease any more: another one may act, and nothing was done."""


class Leadership:
    """The right of this operator to act. `failed`: it has lost it, or can't get it, and the process must end."""

    def __init__(self, election: LeaderElection | None, set_leader: Callable[[float], object]) -> None:
        """Take the election (None: this operator always acts), and what shows 1 while it acts, and 0."""
        self.failed = False
        self._election = election
        self._set_leader = set_leader
        self._stopped = threading.Event()

    def check(self) -> None:
        """Do nothing if this operator may act now.

        Raises:
            NotLeaderError: another one may by now.
        """
        if self._election is not None and not self._election.is_leader():
            raise NotLeaderError("another operator may hold the lease by now")

    @contextmanager
    def acting(self, start: Callable[[], object], stop: Callable[[], object]) -> Iterator[None]:
        """Start acting as soon as this operator may; stop at the end, and leave the lease to the next one."""
        election = self._election
        if election is None:
            self._start(start)
            try:
                yield
            finally:
                stop()
            return
        thread = threading.Thread(target=self._lead, args=(election, start), name="leader-election", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            stop()
            thread.join(_LAST_REQUESTS_SECONDS)
            if not thread.is_alive():
                election.release()

    def _start(self, start: Callable[[], object]) -> None:
        start()
        self._set_leader(1)

    def _lead(self, election: LeaderElection, start: Callable[[], object]) -> None:
        """Act from the election on; an operator that loses the lease ends, and comes back as a candidate."""
        try:
            if election.wait(self._stopped):
                self._start(start)
                election.keep(self._stopped)
        except Exception:  # noqa: BLE001 - whatever it is, an operator without an election thread must not go on
            _log.exception("the lease can't be held: this operator ends")
        if not self._stopped.is_set():
            self.failed = True
            self._set_leader(0)
            _log.error("the lease is lost: another operator acts from now on, and this one ends")
            os.kill(os.getpid(), signal.SIGTERM)
