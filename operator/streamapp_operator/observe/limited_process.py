"""Functions that run in a process of their own, with limits of time and memory: what they call may hang, or crash.

The processes are forked by a server that has loaded what they need and holds no thread, so that a start takes
milliseconds. A process is for one call, and gone after it.
"""

import ctypes
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import TypeVar

_Argument = TypeVar("_Argument")

_ANSWER_BYTES = 32 * 1024 * 1024
_STACK_BYTES = 512 * 1024
"""Of the threads of libraries in C. Kafka's client has one per broker; the usual 8 MiB are counted as memory."""
_NICENESS = 5
_JOIN_SECONDS = 10.0
_context = multiprocessing.get_context("forkserver")
_starts = threading.Lock()
"""`multiprocessing` looks through all its processes when it starts one."""


class ProcessFailedError(Exception):
    """A process ended without an answer, or was ended; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """The limits of one call: seconds until its process is killed, and bytes of memory above those it begins with."""

    seconds: float
    memory: int


def preload(module: str) -> None:
    """Load a module in the server, before the first call: processes then have it without loading it."""
    _context.set_forkserver_preload([module])


def run_limited(function: Callable[[_Argument], bytes], argument: _Argument, limits: ProcessLimits) -> bytes:
    """Call a function of a module in a process of its own, and return its answer.

    Raises:
        ProcessFailedError: it took too long or too much memory, crashed, or raised an error.
    """
    receiver, sender = _context.Pipe(duplex=False)
    with receiver:
        with sender:
            process = _context.Process(target=_answer, args=(function, argument, limits, sender), daemon=True)
            with _starts:
                process.start()
        try:
            if not receiver.poll(limits.seconds):
                raise ProcessFailedError(f"no answer within {limits.seconds:g} s")
            return receiver.recv_bytes(_ANSWER_BYTES)
        except (EOFError, OSError):
            raise ProcessFailedError(_describe_end(process, limits)) from None
        finally:
            _end(process)


def _describe_end(process: ForkServerProcess, limits: ProcessLimits) -> str:
    with _starts:
        process.join(_JOIN_SECONDS)
        code = process.exitcode
    if code == -signal.SIGALRM:
        return f"no answer within {limits.seconds:g} s"
    signaled = "" if code is None or code >= 0 else f" by {signal.Signals(-code).name}"
    return f"its process ended{signaled} without an answer; it may take {limits.memory >> 20} MiB of memory"


def _end(process: ForkServerProcess) -> None:
    with _starts:
        process.kill()
        process.join(_JOIN_SECONDS)
        if process.exitcode is not None:
            process.close()


def _answer(
    function: Callable[[_Argument], bytes], argument: _Argument, limits: ProcessLimits, sender: Connection
) -> None:
    """Call the function, and send its answer; the kernel ends the process, whatever holds its threads."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)
    os.nice(_NICENESS)
    _limit_memory(limits.memory)
    try:
        sender.send_bytes(function(argument))
    except MemoryError:
        os._exit(1)
    # Clients are not waited for: their threads may be anywhere.
    os._exit(0)


def _limit_memory(more: int) -> None:
    _limit_stacks()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    used = int(status.partition("VmData:")[2].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (used + more, used + more))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_stacks() -> None:
    """Set the size of the stacks of threads to come (glibc reads the limit of stacks only when a program starts)."""
    libc = ctypes.CDLL(None)
    attributes = ctypes.create_string_buffer(ctypes.sizeof(ctypes.c_long) * 16)
    libc.pthread_attr_init(attributes)
    libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_STACK_BYTES))
    libc.pthread_setattr_default_np(attributes)
