"""Consoles that print every text as it is: names, messages and rows are their writers', and never markup."""

import os
import sys
from typing import TextIO

from rich.console import Console

_PIPED_COLUMNS = 1_000
"""The width where nobody looks: what reads a pipe or a file wants whole lines."""


def new_console(file: TextIO | None = None) -> Console:
    """Return a console of a file, or of the standard output: as wide as its terminal, or COLUMNS."""
    target = file or sys.stdout
    wide = not target.isatty() and "COLUMNS" not in os.environ
    return Console(
        file=target,
        width=_PIPED_COLUMNS if wide else None,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=True,
    )
