"""Tests of the part in C: what they need of the machine, and the library with a compiler's checks."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

from streamapp_systems.native.compilation import LIBRARY, SANITIZED, compile_library, find_compiler
from streamapp_systems.native.library import SWITCH, native_library
from support.machine import need
from support.repository import ROOT

CHECKS = "abort_on_error=0:detect_leaks=0"  # the interpreter itself keeps memory to its end


def compiler() -> str:
    """Return the C compiler; without one the test is skipped, and fails in CI."""
    found = find_compiler()
    need(() if found else ("no C compiler: install gcc",))
    assert found
    return found


def native() -> ctypes.CDLL:
    """Return the native library; without it the test is skipped, and fails in CI."""
    found = native_library()
    need(() if found.functions else (found.why_absent or "",))
    assert found.functions
    return found.functions


def run_sanitized(folder: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    """Run tests in a process whose native library checks itself for wrong addresses and what C leaves undefined."""
    cc = compiler()
    library = folder / LIBRARY
    compile_library(cc, library, SANITIZED)
    told = subprocess.run([cc, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True, timeout=60)
    checked = {"LD_PRELOAD": told.stdout.strip(), "ASAN_OPTIONS": CHECKS, "PYTHONMALLOC": "malloc"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--capture=no", "-q", *tests],
        cwd=ROOT,
        env={**os.environ, **checked, SWITCH: str(library)},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
