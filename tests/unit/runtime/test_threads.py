"""Threads of this process: what waiting for them means."""

import time
from concurrent.futures import Future

from streamapp_runtime.threads import OperatingSystemThreads

THREADS = OperatingSystemThreads()
SHORT = 0.05


def ended():
    future = Future()
    future.set_result(None)
    return future


def waits(futures, *, first):
    begun = time.monotonic()
    THREADS.wait(futures, SHORT, first=first)
    return time.monotonic() - begun >= SHORT


def test_of_no_futures_there_is_no_first_one_but_all_are_done():
    assert waits([], first=True)
    THREADS.wait([], None)


def test_all_and_the_first_are_different():
    assert waits([ended(), Future()], first=False)
    THREADS.wait([ended(), Future()], None, first=True)


def test_a_future_has_what_its_thread_raises():
    def fail():
        raise KeyError("x")

    future = THREADS.start("failing", fail)
    THREADS.wait([future], None)
    assert isinstance(future.exception(), KeyError)
