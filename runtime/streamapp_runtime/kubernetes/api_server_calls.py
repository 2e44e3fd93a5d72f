"""Calls to the API server a running app can do without: made beside the driver's loop, and again after a failure."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from streamapp_core.deployment.app_documents import DocumentUnreadableError
from streamapp_core.job_model.job_model_errors import JobModelUnreadableError
from streamapp_runtime.threads import Threads
from streamapp_systems.kubernetes.kubernetes_api import KubernetesError

if TYPE_CHECKING:
    from concurrent.futures import Future

_Answer = TypeVar("_Answer")

_SHORTEST_BACKOFF, _LONGEST_BACKOFF = 1.0, 30.0
_MOST_INCIDENTS = 20

FAILED_CALLS = (KubernetesError, DocumentUnreadableError, JobModelUnreadableError)
"""Errors after which the app keeps running: the API server is away, or somebody has damaged a document.

Reading and writing rows needs neither. The Kubernetes operator replaces a driver whose documents are damaged, and its
successor fences it.
"""

Warn = Callable[[str], object]
"""Logs a failure that may pass."""


class ApiServerOutages:
    """The calls that the API server does not answer, each logged when its outage begins and when it ends."""

    def __init__(self, warn: Warn, clock: Callable[[], float]) -> None:
        """Take monotonic seconds."""
        self.incidents: tuple[str, ...] = ()
        """The newest beginnings and ends of outages, each a line."""
        self._warn = warn
        self._clock = clock
        self._since: dict[str, float] = {}
        self._failures: dict[str, int] = {}

    def note_failure(self, purpose: str, error: Exception) -> float:
        """Note that a call has failed; return the backoff before it is made again."""
        failures = self._failures[purpose] = self._failures.get(purpose, 0) + 1
        if failures == 1:
            self._since[purpose] = self._clock()
            self._add(f"{purpose} waits for the API server: {error}")
        return min(_SHORTEST_BACKOFF * 2.0 ** min(failures - 1, 10), _LONGEST_BACKOFF)

    def note_answer(self, purpose: str) -> None:
        """Note that a call was answered."""
        if self._failures.pop(purpose, 0):
            waited = self._clock() - self._since.pop(purpose)
            self._add(f"{purpose} continues after {waited:.0f} s without the API server")

    def _add(self, incident: str) -> None:
        self._warn(incident)
        self.incidents = (*self.incidents, incident)[-_MOST_INCIDENTS:]


class ApiServerCalls(Generic[_Answer]):
    """Calls for one purpose, one at a time, each in a thread of its own; after one that fails there is a backoff."""

    def __init__(self, purpose: str, outages: ApiServerOutages, threads: Threads, clock: Callable[[], float]) -> None:
        self._purpose = purpose
        self._outages = outages
        self._threads = threads
        self._clock = clock
        self._call: Future[_Answer] | None = None
        self._due = clock()

    @property
    def due(self) -> bool:
        """Whether a call may begin: none is under way, and there is no backoff."""
        return self._call is None and self._clock() >= self._due

    def begin(self, call: Callable[[], _Answer]) -> None:
        """Begin a call; only if one is due."""
        self._call = self._threads.start(self._purpose.replace(" ", "-"), call)

    def take(self) -> _Answer | None:
        """Return the answer of the call that has ended since; None if there is none. Never waits.

        Raises: what the call has raised, other than `FAILED_CALLS`.
        """
        call = self._call
        if call is None or not call.done():
            return None
        self._call = None
        try:
            answer = call.result()
        except FAILED_CALLS as error:
            self._due = self._clock() + self._outages.note_failure(self._purpose, error)
            return None
        self._outages.note_answer(self._purpose)
        return answer

    def finish(self) -> None:
        """Wait for the call that is under way, and drop its answer; none may begin after it."""
        if self._call is not None:
            self._threads.wait([self._call], None)
