"""`streamapp test`: the unit tests of an app, from the file beside it."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from streamapp_cli.app_files import exit_with_error, read_app_text, read_text
from streamapp_cli.consoles import new_console
from streamapp_cli.junit_report import junit_xml
from streamapp_cli.prepared_tests import prepare_file
from streamapp_cli.test_printer import AppTestPrinter
from streamapp_core.app_tests.app_test import parse_app_tests
from streamapp_core.app_tests.circumstances import ALL_CIRCUMSTANCES, AS_IT_IS, Circumstances
from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.yaml_document import DocumentError, read_document
from streamapp_runtime.app_tests.prepare_tests import PreparedTest
from streamapp_runtime.app_tests.run_tests import run_tests
from streamapp_runtime.errors import FAILURES

PASSED, FAILED, INTERRUPTED = 0, 1, 130


def run_app_tests(
    file: Path, *, tests: Path | None, wanted: str, once: bool, jobs: int | None, timeout: float, junit: Path | None
) -> int:
    """Run the tests of an app whose names have `wanted` in them, and return the exit code."""
    beside = tests or file.with_suffix(f".tests{file.suffix}")
    if tests is None and file.exists() and not beside.exists():
        exit_with_error(f"{file} has no tests: write them into {beside}, or name their file: --tests FILE")
    circumstances = (AS_IT_IS,) if once else ALL_CIRCUMSTANCES
    prepared = _prepare(file, beside, circumstances)
    if prepared is None:
        return FAILED
    chosen = [one for one in prepared if wanted.lower() in one.test.name.lower()]
    if not chosen:
        exit_with_error(f"{beside} has no test with `{wanted}` in its name")
    printer = AppTestPrinter(new_console(), beside.name, [one.test.name for one in chosen], circumstances)
    begun = time.monotonic()
    try:
        for number, result in run_tests(
            chosen, circumstances, file.absolute().parent, jobs=jobs or os.cpu_count() or 1, seconds=timeout
        ):
            printer.add(number, result)
    except FAILURES as failure:
        exit_with_error(str(failure), FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    seconds = time.monotonic() - begun
    printer.summarize(seconds)
    if junit is not None:
        try:
            junit.write_text(junit_xml(beside.name, printer.results, seconds), encoding="utf-8")
        except OSError as error:
            exit_with_error(f"{junit}: {error.strerror}")
    return FAILED if printer.failed else PASSED


def _prepare(file: Path, tests: Path, circumstances: Sequence[Circumstances]) -> tuple[PreparedTest, ...] | None:
    """Read the app and its tests; print the problems there are, and return None then."""
    text = read_app_text(file)
    try:
        parsed = parse_text(text)
        document, _ = read_document(text)
    except DocumentError as error:
        exit_with_error(f"{file}: {error}")
    try:
        found, problems = parse_app_tests(read_text(tests))
    except DocumentError as error:
        exit_with_error(f"{tests}: {error}")
    prepared = prepare_file(document, parsed, found, problems, circumstances)
    prepared.print_problems(new_console(), file.name, tests.name)
    return prepared.tests
