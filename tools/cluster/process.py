"""Runs other programs, and tells the user what takes long."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.cluster.errors import ClusterError

Arguments = Sequence[str | Path]
_SHOWN = 4000


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
    try:
        return subprocess.run(  # noqa: S603 - programs of ours
            [str(argument) for argument in arguments],
            env={**os.environ, **(env or {})},
            cwd=cwd,
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"{_shown(arguments)} did not end in {timeout:.0f} s") from error
    except FileNotFoundError as error:
        raise ClusterError(f"there is no program {arguments[0]} here") from error


def _shown(arguments: Arguments) -> str:
    return " ".join(str(argument) for argument in arguments)[:200]
