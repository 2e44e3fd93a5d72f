"""The first rows that a task could not use, for the run's report."""

from streamapp_core.spec.job import OnError
from streamapp_runtime.errors import RuntimeFailure

_RECORDED = 10


class BadRows:
    """The first bad rows of a task, each with its place and what was wrong.

    The task sets the place of the rows that its operators process; an operator adds what is wrong with one.
    """

    def __init__(self) -> None:
        self.place = ""
        """The partition and offsets of the rows that are being processed."""
        self.descriptions: tuple[str, ...] = ()

    @property
    def full(self) -> bool:
        """Whether no more are recorded."""
        return len(self.descriptions) == _RECORDED

    def refuse(self, what: str, on_error: OnError) -> None:
        """Record what is wrong with rows that are left out.

        Raises:
            RuntimeFailure: the app does not skip errors.
        """
        message = f"{self.place}: {what}"
        if on_error is not OnError.SKIP:
            raise RuntimeFailure(message)
        self.remember(message)

    def remember(self, *rows: str) -> None:
        """Record descriptions, up to a small number."""
        self.descriptions = (*self.descriptions, *rows)[:_RECORDED]
