"""A thread whose result can be waited for."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Result = TypeVar("_Result")


def in_thread(name: str, function: Callable[[], _Result]) -> Future[_Result]:
    """Run a function in a thread of its own; the future has what it returns or raises."""
    future: Future[_Result] = Future()

    def run() -> None:
        future.set_running_or_notify_cancel()
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - whoever waits decides
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
