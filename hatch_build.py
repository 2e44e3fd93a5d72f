"""Puts the native library into wheels, if this machine has a C compiler."""

import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "systems"))
from streamapp_systems.native.compilation import (
    LIBRARY,
    CompilationError,
    compile_library,
    find_compiler,
)


class NativeLibraryHook(BuildHookInterface[Any]):
    """Compiles the library for a wheel, which is then one of this platform; without it, the wheel is one for any."""

    _folder: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library to what the wheel holds; checkouts have theirs by make."""
        if version == "editable":
            return
        compiler = find_compiler()
        if compiler is None:
            self._say_slower("there is no C compiler")
            return
        self._folder = Path(tempfile.mkdtemp())
        library = self._folder / LIBRARY
        try:
            compile_library(compiler, library)
        except CompilationError as error:
            self._say_slower(f"the C compiler refused the sources:\n{error}")
            return
        build_data["force_include"][str(library)] = f"streamapp_systems/native/{LIBRARY}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """Remove what was compiled."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _say_slower(self, reason: str) -> None:
        self.app.display_warning(f"the wheel has no native library, so that StreamApp runs slower: {reason}")
