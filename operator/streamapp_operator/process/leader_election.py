"""The election of the one operator that acts, among several: by a Lease, as client-go elects (docs/operator.md).

The Python client's own election goes by the time of day and ends at the first request that fails; this one does not.
"""

import threading
from collections.abc import Callable
from datetime import datetime

import structlog

from streamapp_core.time_formats import format_micro_time
from streamapp_systems.kubernetes.kubernetes_api import (
    Kind,
    KubernetesApi,
    KubernetesError,
    Object,
    ObjectExistsError,
    RequestRefusedError,
    VersionConflictError,
)

DURATION_SECONDS = 10
"""Others take a lease that they have not seen renewed for so long."""
VALID_SECONDS = 7.0
"""The holder acts for so long after it asked for its last renewal: it stops before others begin."""
RETRY_SECONDS = 2.0
LONGEST_REQUEST_SECONDS = 4.0
"""Of the client for the lease: a request that hangs does not keep a leader from ending its term."""
_log = structlog.get_logger()


class LeaderElection:
    """One candidate for a lease. Times are measured by each candidate's own clock: clocks of nodes may differ."""

    def __init__(
        self,
        api: KubernetesApi,
        lease: tuple[str, str],
        identity: str,
        monotonic: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        """Create a candidate that does not hold the lease.

        Args:
            api: the API server.
            lease: namespace and name of the Lease.
            identity: a name that no other candidate has.
            monotonic: seconds that never go back, and go on while the process is stopped.
            now: the time of day, for people who look at the lease.
        """
        self._api = api
        self._namespace, self._name = lease
        self._identity = identity
        self._monotonic = monotonic
        self._now = now
        self._valid_until = float("-inf")
        self._seen: str | None = None
        self._seen_at = float("-inf")

    def is_leader(self) -> bool:
        """Return whether this candidate may act now."""
        return self._monotonic() < self._valid_until

    def wait(self, stopped: threading.Event) -> bool:
        """Wait until this candidate is the leader; return False if it is stopped before.

        Raises:
            RequestRefusedError: it has no right to the lease.
        """
        _log.info("standing by until the lease is free", identity=self._identity)
        while not stopped.is_set():
            if self._try():
                _log.info("leading", identity=self._identity)
                return True
            stopped.wait(RETRY_SECONDS)
        return False

    def keep(self, stopped: threading.Event) -> None:
        """Renew the lease until it is lost, or this candidate is stopped."""
        while self.is_leader() and not stopped.wait(RETRY_SECONDS):
            self._try()

    def release(self) -> None:
        """Stop acting, and leave the lease to the next candidate at once."""
        led = self.is_leader()
        self._valid_until = float("-inf")
        try:
            lease = self._api.get(Kind.LEASE, self._namespace, self._name) if led else None
            if lease is not None and lease["spec"].get("holderIdentity") == self._identity:
                self._api.replace(Kind.LEASE, {**lease, "spec": {**lease["spec"], "holderIdentity": ""}})
        except KubernetesError as error:
            _log.warning("the lease can't be released; the next leader waits until it is over", error=str(error))

    def _try(self) -> bool:
        """Acquire or renew the lease, if it is free or ours; return whether this candidate leads."""
        asked = self._monotonic()
        try:
            lease = self._api.get(Kind.LEASE, self._namespace, self._name)
            if lease is None:
                if self._was_seen(asked):
                    return False
                self._api.create(Kind.LEASE, {"metadata": self._metadata(), "spec": self._spec(None)})
            elif self._is_free(lease):
                self._api.replace(Kind.LEASE, {**lease, "spec": self._spec(lease["spec"])})
            else:
                self._valid_until = float("-inf")
                return False
        except RequestRefusedError:
            raise
        except (ObjectExistsError, VersionConflictError):
            return False
        except KubernetesError as error:
            _log.warning("the lease can't be read or written; trying again", error=str(error))
            return False
        self._valid_until = asked + VALID_SECONDS
        return True

    def _was_seen(self, now: float) -> bool:
        """Return whether a lease that is gone was another's a moment ago: its holder may still act."""
        return not self.is_leader() and now - self._seen_at < DURATION_SECONDS

    def _is_free(self, lease: Object) -> bool:
        """Return whether a lease is ours, nobody's, or was not renewed while we looked for as long as it lasts."""
        spec, version, now = lease["spec"], lease["metadata"]["resourceVersion"], self._monotonic()
        if version != self._seen:
            self._seen, self._seen_at = version, now
        holder, lasts = spec.get("holderIdentity"), max(DURATION_SECONDS, spec.get("leaseDurationSeconds") or 0)
        return not holder or holder == self._identity or now - self._seen_at >= lasts

    def _metadata(self) -> Object:
        return {"namespace": self._namespace, "name": self._name}

    def _spec(self, before: Object | None) -> Object:
        """Return the lease's spec with this candidate as its holder, from now on."""
        moment = format_micro_time(self._now())
        spec = {"holderIdentity": self._identity, "leaseDurationSeconds": DURATION_SECONDS, "renewTime": moment}
        if before is not None and before.get("holderIdentity") == self._identity:
            return {**before, **spec}
        transitions = 0 if before is None else (before.get("leaseTransitions") or 0) + 1
        return {**spec, "acquireTime": moment, "leaseTransitions": transitions}
