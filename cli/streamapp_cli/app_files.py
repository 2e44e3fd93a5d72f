"""Files the user names: read, or refused in one clear line."""

import json
import sys
from pathlib import Path
from typing import NoReturn

import typer
from rich.text import Text

from streamapp_cli.consoles import new_console
from streamapp_core.naming import local_run_path
from streamapp_core.schema_files import embed_schema_files
from streamapp_core.spec.yaml_document import DocumentError

USAGE = 2


def read_text(path: Path) -> str:
    """Read a text file, or end the program."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        exit_with_error(f"{path}: {error.strerror}")
    except UnicodeDecodeError as error:
        exit_with_error(f"{path}: no UTF-8 text: {error}")


def read_app_text(path: Path) -> str:
    """Read the text of an app, with the schemas that it names files of, or end the program."""
    try:
        return embed_schemas(read_text(path), path.parent)
    except DocumentError as error:
        exit_with_error(f"{path}: {error}")


def state_folder(file: Path, app: str, state_dir: Path | None) -> Path:
    """Return the folder where an app keeps its state: that of an option, or the usual one beside its file."""
    return (state_dir or file.absolute().parent / local_run_path(app)).absolute()


def embed_schemas(text: str, folder: Path) -> str:
    """Return the text of an app with the schemas that it names files of, which are in a folder.

    Raises:
        DocumentError: see `embed_schema_files`.
    """
    return embed_schema_files(text, lambda name: _schema_text(folder / name))


def _schema_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


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
