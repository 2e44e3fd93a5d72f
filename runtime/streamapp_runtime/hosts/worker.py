"""The program of a worker process: `python -m streamapp_runtime.hosts.worker`.

A parcel comes on standard input, the outcome goes to standard output. What else would be printed there, by functions of
users, goes to standard error.
"""

import gc
import os
import sys

import msgspec

from streamapp_runtime.fail_points import set_incarnation
from streamapp_runtime.hosts.processor_launch import decode_launch, work


def collect_garbage_rarely() -> None:
    """Let Python look for cyclic garbage rarely: rows are many objects and no cycles, and to walk them takes time."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def main() -> None:
    """Be a worker."""
    answer = os.dup(1)
    os.dup2(2, 1)
    collect_garbage_rarely()
    parcel = decode_launch(sys.stdin.buffer.readline())
    set_incarnation(parcel.config.incarnation.number)
    outcome = msgspec.json.encode(work(parcel))
    with os.fdopen(answer, "wb") as pipe:
        pipe.write(outcome)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # all is closed; what libraries tell of themselves at an interpreter's end would fill the log


if __name__ == "__main__":
    main()
