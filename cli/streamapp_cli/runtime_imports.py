"""Imports of what runs apps, which an installation that only plans lacks."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def runtime_imports() -> Iterator[None]:
    """End the program with what to install, where a package that apps need to run is missing."""
    try:
        yield
    except ModuleNotFoundError as missing:
        from streamapp_cli.app_files import exit_with_error

        exit_with_error(what_to_install(missing))


def what_to_install(missing: ModuleNotFoundError) -> str:
    """Return what an installation lacks that has no such module, and how to get it."""
    return (
        f"the package {missing.name} is not installed: this installation plans apps, and does not run them. Install "
        "all that is needed: pip install 'streamapp-operator[runtime]' (in a checkout: pip install '.[runtime]')"
    )
