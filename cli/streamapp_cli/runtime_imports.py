"""Imports of what runs apps, which an installation that only plans lacks."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

_MISSING = 2


@contextmanager
def runtime_imports() -> Iterator[None]:
    """End the program with what to install, where a package that apps need to run is missing."""
    try:
        yield
    except ModuleNotFoundError as missing:
        typer.echo(
            f"error: the package {missing.name} is not installed: this installation plans apps, and does not run them. "
            "Install all that is needed: pip install 'streamapp[runtime]' (from a checkout: pip install '.[runtime]')",
            err=True,
        )
        raise typer.Exit(_MISSING) from missing
