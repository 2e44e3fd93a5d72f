"""Amounts of memory as Kubernetes writes them."""

import re

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([kMGT]i?|Ki)?")


def mebibytes(memory: str) -> int:
    """Return the whole MiB of an amount of memory, a quantity of Kubernetes.

    Raises:
        ValueError: it is none.
    """
    return count_bytes(memory) // 2**20


def count_bytes(memory: str) -> int:
    """Return the whole bytes of an amount of memory, a quantity of Kubernetes.

    Raises:
        ValueError: it is none.
    """
    found = _QUANTITY.fullmatch(memory)
    if found is None:
        raise ValueError(f"{memory} is not an amount of memory")
    return int(float(found[1]) * _UNITS[found[2] or ""])
