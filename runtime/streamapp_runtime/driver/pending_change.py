"""Job models that are asked for and not begun yet: only the last one counts."""

from concurrent.futures import Future
from queue import Empty, SimpleQueue

from streamapp_runtime.driver.prepare import PreparedRun


class PendingChange:
    """Takes runs to go on with from any thread, and gives them to one."""

    def __init__(self) -> None:
        self._wishes: SimpleQueue[tuple[PreparedRun, Future[None]]] = SimpleQueue()

    @property
    def waiting(self) -> bool:
        """Whether anything is asked for."""
        return not self._wishes.empty()

    def add(self, prepared: PreparedRun) -> Future[None]:
        """Ask for a run; the future is for who takes it to set."""
        done: Future[None] = Future()
        self._wishes.put((prepared, done))
        return done

    def take(self) -> tuple[PreparedRun, Future[None]] | None:
        """Give what was asked for last, with its future; the futures of all before are cancelled."""
        last = None
        while True:
            try:
                wish = self._wishes.get_nowait()
            except Empty:
                return last
            if last is not None:
                last[1].cancel()
            last = wish
