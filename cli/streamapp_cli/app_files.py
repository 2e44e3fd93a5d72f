"""Files the user names: read, or refused in one clear line."""

import json
import sys
from pathlib import Path
from typing import NoReturn

import typer
from rich.text import Text

from streamapp_cli.consoles import new_console

USAGE = 2


def read_text(path: Path) -> str:
    """Read a text file, or end the program."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        exit_with_error(f"{path}: {error.strerror}")
    except UnicodeDecodeError as error:
        exit_with_error(f"{path}: no UTF-8 text: {error}")


def read_json(path: Path) -> object:
    """Read a JSON file, or end the program."""
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        exit_with_error(f"{path}: no valid JSON: {error}")


def print_error(message: str) -> None:
    """Print an error to standard error."""
    new_console(sys.stderr).print(Text.assemble(("error:", "red"), f" {message}"))


def exit_with_error(message: str, code: int = USAGE) -> NoReturn:
    """Print an error and end the program."""
    print_error(message)
    raise typer.Exit(code)
