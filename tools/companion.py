"""A process that lives as long as ours and no longer, even if ours is killed."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_UNTIL_PARENT_ENDS = """
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
{ read -r _ <&3; kill -KILL $child; } 2>/dev/null &
wait $child
"""
"""Runs a command that dies with us, even when we are killed: our end of its standard input closes then."""
_KILL_SECONDS = 30


class Companion:
    """A command started in the background; what it prints is added to a log."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - commands of ours
                ["/bin/sh", "-c", _UNTIL_PARENT_ENDS, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def ended(self) -> bool:
        """Whether the process has ended by itself or was killed."""
        return self._process.poll() is not None

    @property
    def pid(self) -> int:
        """The command's process, a child of the shell that watches over it."""
        shell = self._process.pid
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=_KILL_SECONDS)

    def terminate(self, seconds: float = _KILL_SECONDS) -> None:
        """Ask the process to end, and wait until it has; what does not end in so many seconds is killed."""
        os.kill(self.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=seconds)
        self.kill()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Suspend the process for a while, as an overloaded machine does."""
        command = self.pid
        os.kill(command, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(command, signal.SIGCONT)

    def wait(self) -> int:
        """Wait until the process ends by itself, and give its exit code."""
        return self._process.wait()
