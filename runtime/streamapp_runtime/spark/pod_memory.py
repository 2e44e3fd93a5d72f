"""The division of a pod's memory: a small heap for Spark, the rest for Python, Arrow and LMDB's pages."""

from streamapp_core.deployment.memory_quantities import mebibytes

HEAP_MEBIBYTES = 480
"""Spark refuses to start with less than 450 MiB. It is a limit, not what is used."""

_LEAST = 384


def overhead(memory: str) -> int:
    """Return the MiB of an executor's memory (a Kubernetes quantity) that are not Spark's heap; 384 at the least."""
    return max(mebibytes(memory) - HEAP_MEBIBYTES, _LEAST)
