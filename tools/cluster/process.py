"""Runs other programs, which end when we do, and tells the user what takes long."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.cluster.errors import ClusterError

Arguments = Sequence[str | Path]
_SHOWN = 4000
_ABOVE_THE_SHELL_S = 10  # descriptors that a shell script can name
_UNTIL_WE_END = """
exec 3<&0
"$@" <&3 3<&- &
child=$!
{ read -r _ </dev/fd/$0; kill -TERM $child; } >/dev/null 2>&1 3<&- &
wait $child
status=$?
kill -KILL $!
exit $status
"""
"""Runs a command. The descriptor named first is the end of a pipe whose other end we hold. It closes when we end, even
when we are killed: then the command is asked to end too. It is not killed at once: podman would leave a mess."""


def say(text: str) -> None:
    """Write one line to the user."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@contextmanager
def step(what: str) -> Iterator[None]:
    """Name a step of the work and say how long it took."""
    start = time.monotonic()
    yield
    say(f"   {what}: {time.monotonic() - start:.0f} s")


def run(
    arguments: Arguments,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    text: str | None = None,
    timeout: float = 1800,
) -> str:
    """Run a program to its end and give its standard output.

    `env` is added to this process's environment, `text` is the standard input (else there is none), `timeout` is in
    seconds.

    Raises:
        ClusterError: it failed or took too long; the message has the end of what it printed.
    """
    done = attempt(arguments, env=env, cwd=cwd, text=text, timeout=timeout)
    if done.returncode:
        raise ClusterError(f"{_shown(arguments)} failed ({done.returncode}):\n{(done.stdout + done.stderr)[-_SHOWN:]}")
    return done.stdout


def attempt(
    arguments: Arguments,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    text: str | None = None,
    timeout: float = 1800,
) -> subprocess.CompletedProcess[str]:
    """Run a program that may fail; see `run`.

    Raises:
        ClusterError: it took too long, or there is no such program.
    """
    if not shutil.which(arguments[0]):
        raise ClusterError(f"there is no program {arguments[0]} here")
    try:
        with started(arguments, env=env, cwd=cwd, has_input=text is not None) as process:
            output, errors = process.communicate(text, timeout)
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"{_shown(arguments)} did not end in {timeout:.0f} s") from error
    return subprocess.CompletedProcess(list(map(str, arguments)), process.returncode, output, errors)


@contextmanager
def started(
    arguments: Arguments,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    has_input: bool = False,
) -> Iterator[subprocess.Popen[str]]:
    """Start a program, whose output and errors the caller reads; see `run`.

    It runs no longer than this process, in a session of its own; what it has started is its own affair.
    """
    low, ours = os.pipe()
    theirs = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _ABOVE_THE_SHELL_S)
    os.close(low)
    try:
        with subprocess.Popen(  # noqa: S603 - programs of ours
            ["/bin/sh", "-c", _UNTIL_WE_END, str(theirs), *map(str, arguments)],
            env={**os.environ, **(env or {})},
            cwd=cwd,
            stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=[theirs],
            start_new_session=True,
        ) as process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise
    finally:
        os.close(ours)
        os.close(theirs)


def _shown(arguments: Arguments) -> str:
    return " ".join(str(argument) for argument in arguments)[:200]
