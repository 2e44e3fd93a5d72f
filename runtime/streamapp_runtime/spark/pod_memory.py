"""The division of a pod's memory: a small heap for Spark, the rest for Python, Arrow and LMDB's pages."""

import re

HEAP_MEBIBYTES = 480
"""Spark refuses to start with less than 450 MiB. It is a limit, not what is used."""

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([kMGT]i?|Ki)?")
_LEAST = 384


def overhead(memory: str) -> int:
    """Return the MiB of an executor's memory (a Kubernetes quantity) that are not Spark's heap; 384 at the least."""
    found = _QUANTITY.fullmatch(memory)
    if found is None:
        raise ValueError(f"{memory} is not an amount of memory")
    total = float(found[1]) * _UNITS[found[2] or ""] / 2**20
    return max(int(total) - HEAP_MEBIBYTES, _LEAST)
