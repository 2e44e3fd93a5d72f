"""Python's garbage collector in a worker."""

import gc


def collect_rarely() -> None:
    """Let Python look for cyclic garbage rarely: rows are many objects and no cycles, and to walk them takes time."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
