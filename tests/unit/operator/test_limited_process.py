"""Functions in processes of their own: answers come back, and whatever else happens is an error of one call."""

import ctypes
import os
import time

import pytest

from streamapp_operator.observe.limited_process import ProcessFailedError, ProcessLimits, run_limited

LIMITS = ProcessLimits(seconds=30.0, memory=64 << 20)
SHORT = ProcessLimits(seconds=0.5, memory=64 << 20)


def reversed_bytes(data):
    return data[::-1]


def hold_the_lock(_):
    """Block with Python's lock held, as a library does that reads a device."""
    ctypes.PyDLL(None).sleep(60)


def wait(_):
    time.sleep(60)


def take_memory(size):
    return str(len(bytearray(size))).encode()


def take_memory_in_c(size):
    """Ask the C library, as Kafka's client does, which aborts where it gets none."""
    malloc = ctypes.CDLL(None).malloc
    malloc.restype = ctypes.c_void_p
    malloc.argtypes = [ctypes.c_size_t]
    if malloc(size) is None:
        os.abort()
    return b""


def fail(_):
    raise ZeroDivisionError


def exit_silently(_):
    os._exit(3)


def test_the_answer_of_a_call_comes_back():
    assert run_limited(reversed_bytes, b"abc", LIMITS) == b"cba"


def test_a_large_answer_comes_back_as_a_whole():
    data = os.urandom(1 << 20)
    assert run_limited(reversed_bytes, data, LIMITS) == data[::-1]


@pytest.mark.parametrize("function", [wait, hold_the_lock])
def test_who_does_not_answer_in_time_is_killed(function):
    with pytest.raises(ProcessFailedError, match=r"no answer within 0\.5 s"):
        run_limited(function, None, SHORT)


@pytest.mark.parametrize("function", [take_memory, take_memory_in_c])
def test_who_takes_too_much_memory_ends(function):
    with pytest.raises(ProcessFailedError, match="without an answer; it may take 64 MiB"):
        run_limited(function, 900 << 20, LIMITS)


def test_memory_within_the_limit_is_there():
    assert run_limited(take_memory, 32 << 20, LIMITS) == str(32 << 20).encode()


def test_threads_of_libraries_are_not_counted_as_eight_megabytes_each():
    assert run_limited(start_threads, 60, LIMITS) == b"60"


def start_threads(count):
    """Start threads as a library in C does."""
    libc = ctypes.CDLL(None)
    started = 0
    for _ in range(count):
        thread = ctypes.c_ulong()
        started += libc.pthread_create(ctypes.byref(thread), None, libc.pause, None) == 0
    return str(started).encode()


@pytest.mark.parametrize("function", [fail, exit_silently])
def test_who_ends_without_an_answer_is_told(function):
    with pytest.raises(ProcessFailedError, match="ended without an answer"):
        run_limited(function, None, LIMITS)
