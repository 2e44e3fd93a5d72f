"""Tables for people, as wide as their terminal."""

from rich import box
from rich.console import Console
from rich.table import Table

_NARROWEST, _OTHERS = 20, 64
"""Characters for the last column, at least, and for the others."""


def new_table(console: Console, *titles: str) -> Table:
    """Return an empty table; text that does not fit into its last column is cut off."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in titles[:-1]:
        table.add_column(title, no_wrap=True)
    table.add_column(titles[-1], no_wrap=True, overflow="ellipsis", max_width=max(_NARROWEST, console.width - _OTHERS))
    return table
