"""Compiles the native library of this checkout, or takes it from the cache: `make` runs it when a source has changed.

Without a compiler, Debian's is installed where that needs no questions; elsewhere StreamApp runs without the library.
"""

import platform
import shutil
import subprocess
import sys
from pathlib import Path

from tools.cluster.cached import default_cache, kept, key_of
from tools.debian_package import install_package

from streamapp_systems.native.compilation import (
    FLAGS,
    FOLDER,
    LIBRARY,
    compile_library,
    find_compiler,
    sources_digest,
)


def provide_library(cache: Path, compiler: str, into: Path = FOLDER / LIBRARY) -> None:
    """Put the library to its place; what the cache has was compiled from the same sources by the same compiler.

    Raises:
        CompilationError: the compiler refuses the sources.
    """
    told = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True, timeout=60)  # noqa: S603
    key = key_of(sources_digest(), told.stdout, " ".join(FLAGS), platform.machine())

    def build(work: Path) -> None:
        compile_library(compiler, work / LIBRARY)

    made = kept(cache, f"native-{key}", build, what="compiling the native library")
    complete = into.with_suffix(".new")
    shutil.copyfile(made / LIBRARY, complete)
    complete.rename(into)  # processes that have loaded the old one keep it


def main() -> None:
    """Compile it, or say that it is missing."""
    if find_compiler() is None:
        install_package("gcc", "libc6-dev")
    compiler = find_compiler()
    if compiler is None:
        sys.stdout.write("== no C compiler here (install gcc): StreamApp runs without its native library, slower\n")
        return
    provide_library(default_cache(), compiler)


if __name__ == "__main__":
    main()
