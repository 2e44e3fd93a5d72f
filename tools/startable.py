"""The start and the end of what a `with` statement holds."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Startable(ABC):
    """A thing that `with` starts and closes, also if it could not be started."""

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """End what was started, and remove what it holds."""

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
