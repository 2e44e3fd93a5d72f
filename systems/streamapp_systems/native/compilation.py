"""Compiles the native library; needs the standard library and a C compiler only, as it runs while wheels are built."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
LIBRARY = "streamapp_native.so"
FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror")
SANITIZED = ("-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
"""Flags for tests: the process ends with a report at the first access or operation that C does not define."""

_SECONDS = 300.0


class CompilationError(Exception):
    """The compiler refuses the sources; the message is its own."""


def find_compiler() -> str | None:
    """Return the C compiler of this machine, or of the environment's CC; None where there is none."""
    return shutil.which(os.environ.get("CC") or "cc")


def source_files(folder: Path = FOLDER) -> list[Path]:
    """Return the C files and headers, by name."""
    return sorted(path for path in folder.iterdir() if path.suffix in {".c", ".h"})


def sources_digest(folder: Path = FOLDER) -> str:
    """Return the digest of the sources' names and contents, in hexadecimal."""
    digest = hashlib.sha256()
    for path in source_files(folder):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def compile_library(compiler: str, into: Path, more_flags: Sequence[str] = ()) -> None:
    """Compile the sources to one shared library; the same sources and compiler give the same bytes.

    Raises:
        CompilationError: the compiler refuses them.
    """
    names = [path.name for path in source_files() if path.suffix == ".c"]
    strip = () if more_flags else ("-s",)
    command = [compiler, *FLAGS, *strip, f'-DSTREAMAPP_SOURCES="{sources_digest()}"', *more_flags]
    done = subprocess.run(  # noqa: S603 - the compiler of this machine
        [*command, "-o", str(into.absolute()), *names],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    if done.returncode:
        raise CompilationError(done.stderr or done.stdout)
