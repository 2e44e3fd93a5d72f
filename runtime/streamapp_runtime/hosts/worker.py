"""The program of a worker process: `python -m streamapp_runtime.hosts.worker`.

The launch is read from standard input, the outcome goes to standard output. Whatever else is printed there, by users'
functions, goes to standard error.
"""

import os
import sys

import msgspec

from streamapp_runtime.fail_points import set_incarnation
from streamapp_runtime.hosts.launched_processor import run_launched
from streamapp_runtime.hosts.processor_launch import decode_launch


def main() -> None:
    """Run one processor, as standard input says."""
    answer = os.dup(1)
    os.dup2(2, 1)
    launch = decode_launch(sys.stdin.buffer.readline())
    set_incarnation(launch.config.incarnation.number)
    outcome = msgspec.json.encode(run_launched(launch))
    with os.fdopen(answer, "wb") as pipe:
        pipe.write(outcome)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # all is closed; what libraries print at an interpreter's end would fill the log


if __name__ == "__main__":
    main()
