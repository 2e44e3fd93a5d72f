"""The native library in this process: loaded once, or the reason why it is not."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from streamapp_systems.native.compilation import FOLDER, LIBRARY, sources_digest

SWITCH = "STREAMAPP_NATIVE"
"""The environment's variable: `off` does without the library, a path loads another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeLibrary:
    """The library's functions, which free the interpreter's lock while they run; or why there are none."""

    functions: ctypes.CDLL | None = None
    why_absent: str | None = None


@cache
def native_library() -> NativeLibrary:
    """Return the library of this process."""
    setting = os.environ.get(SWITCH, "")
    if setting == "off":
        return NativeLibrary(why_absent=f"{SWITCH} is off")
    return load_library(Path(setting) if setting else FOLDER / LIBRARY)


@contextmanager
def without_native_library() -> Iterator[None]:
    """Do without the library for a while, to compare both ways in one process; by one thread."""
    before = os.environ.get(SWITCH)
    os.environ[SWITCH] = "off"
    native_library.cache_clear()
    try:
        yield
    finally:
        if before is None:
            del os.environ[SWITCH]
        else:
            os.environ[SWITCH] = before
        native_library.cache_clear()


def load_library(file: Path) -> NativeLibrary:
    """Load the library from a file, unless it was compiled from other sources than those beside this module."""
    if not file.is_file():
        return NativeLibrary(
            why_absent=f"there is no {file}: a checkout gets it by make, a wheel when it is built where there is a C "
            "compiler"
        )
    try:
        functions = ctypes.CDLL(str(file))
        functions.streamapp_sources.restype = ctypes.c_char_p
        compiled = functions.streamapp_sources()
    except (OSError, AttributeError) as error:
        return NativeLibrary(why_absent=f"{file} can't be loaded: {error}")
    if compiled != sources_digest().encode():
        return NativeLibrary(why_absent=f"{file} was compiled from other sources than those beside it: run make")
    return NativeLibrary(functions=functions)
