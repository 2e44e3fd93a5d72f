"""The kernel that writes texts as they stand in XML, as Spark's own writer does. It goes row by row."""

import re

import pyarrow as pa

from streamapp_runtime.kernels.java_units import joined_units, units

_SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_SPECIAL = re.compile("[&<>\\r\\x7f-\\x9f\\ufffe\\uffff]")
_SHORT = 12
_BLOCK = 512
"""The characters that are written at once, of texts that are not short."""


def xml_escaped(texts: pa.Array) -> pa.Array:
    """Write texts with signs for what XML can't hold, and numbers for what is hard to read.

    `>` is a sign behind `]`, and where a block begins; in texts that are not short behind another sign too.
    """
    return pa.array((text and _escaped(text) for text in texts.to_pylist()), pa.string())


def _escaped(text: str) -> str:
    halves = units(text)
    if len(halves) < _SHORT:
        return joined_units(_block(halves, behind_signs=False))
    blocks = (halves[at : at + _BLOCK] for at in range(0, len(halves), _BLOCK))
    return joined_units("".join(_block(block, behind_signs=True) for block in blocks))


def _block(text: str, *, behind_signs: bool) -> str:
    parts, start = [], 0
    for match in _SPECIAL.finditer(text):
        at, sign = match.start(), match[0]
        if sign == ">" and at != (start if behind_signs else 0) and text[at - 1] != "]":
            continue
        parts += [text[start:at], _SIGNS.get(sign) or f"&#x{ord(sign):x};"]
        start = at + 1
    return "".join([*parts, text[start:]])
