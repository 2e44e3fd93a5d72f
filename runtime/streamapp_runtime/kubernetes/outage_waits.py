"""Calls that the start or the end of an epoch needs: made again while the API server or a system is away."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from streamapp_runtime.driver.retry_tracker import RetryTracker
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import OUTAGES
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.kubernetes.api_server_calls import ApiServerOutages
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth
from streamapp_systems.kubernetes.kubernetes_api import ServerUnavailableError

_Answer = TypeVar("_Answer")

_TURN_SECONDS = 1.0


class OutageWaits:
    """Makes calls until they are answered. The driver counts as alive meanwhile: to restart it would help nobody."""

    def __init__(
        self, outages: ApiServerOutages, health: DriverHealth, context: ExecutionContext, timeouts: Timeouts
    ) -> None:
        self._outages = outages
        self._health = health
        self._clock = context.clock
        self._threads = context.threads
        self._timeouts = timeouts

    def call(self, purpose: str, call: Callable[[], _Answer]) -> _Answer:
        """Make a call that may be repeated until it is answered, and return the answer.

        The API server is waited for without a limit, other systems as long as `Timeouts.away` says.

        Raises:
            SystemAway: a system has been away for too long.
        """
        systems = RetryTracker(self._timeouts, self._clock.monotonic)
        while True:
            try:
                answer = self.wait(self._threads.start(purpose.replace(" ", "-"), call))
            except ServerUnavailableError as error:
                self._sleep(self._outages.note_failure(purpose, error))
            except OUTAGES as error:
                self._sleep(systems.note_outage(purpose, error))
            else:
                self._outages.note_answer(purpose)
                return answer

    def wait(self, answer: Future[_Answer]) -> _Answer:
        """Wait for what was begun, and return its answer."""
        while not answer.done():
            self._threads.wait([answer], _TURN_SECONDS)
            self._health.turn(None, ready=False)
        return answer.result()

    def _sleep(self, seconds: float) -> None:
        until = self._clock.monotonic() + seconds
        while (left := until - self._clock.monotonic()) > 0:
            self._clock.sleep(min(left, _TURN_SECONDS))
            self._health.turn(None, ready=False)
