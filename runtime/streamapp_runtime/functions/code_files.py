"""The Python files of an app's functions, to tell whether they have changed."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from streamapp_core.spec.app import StreamAppSpec

_CODE = "*.py"


def code_digests(spec: StreamAppSpec, folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the files that an app's functions are in, of Python beside these, and of its zip files.

    The keys are paths relative to the app's folder, where they are below it. Modules that are installed, and files that
    can't be read, are left out.
    """
    digests = {}
    for path in sorted(set(_files(spec, folder))):
        try:
            content = path.read_bytes()
        except OSError:
            continue
        name = path.relative_to(folder) if path.is_relative_to(folder) else path
        digests[str(name)] = hashlib.sha256(content).hexdigest()
    return digests


def _files(spec: StreamAppSpec, folder: Path) -> Iterator[Path]:
    given = [folder / name for name in spec.py_files]
    yield from (path for path in given if path.is_file())
    searched = [folder, *(path.parent if path.suffix == ".py" else path for path in given if path.suffix != ".zip")]
    for module in _modules(spec):
        first, *_ = module.split(".")
        for base in searched:
            if (base / first).is_dir():
                yield from (base / first).rglob(_CODE)
            elif (base / f"{first}.py").is_file():
                yield from base.glob(_CODE)


def _modules(spec: StreamAppSpec) -> set[str]:
    named = [operator.process.function for operator in spec.operators if operator.process is not None]
    named += [table.extractor.function for table in spec.tables.values() if table.extractor is not None]
    named += [function.function for function in spec.functions.values()]
    return {name.partition(":")[0] for name in named}
