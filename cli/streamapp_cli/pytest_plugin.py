"""The plug-in for pytest: the tests of apps, in `APP.tests.yaml` beside `APP.yaml`, are items of its own.

pytest loads it in every run, so it imports what runs apps only when it finds such a file.
"""

import os
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from streamapp_cli.prepared_tests import PreparedFile
    from streamapp_core.app_tests.circumstances import Circumstances
    from streamapp_runtime.app_tests.prepare_tests import PreparedTest

_ENDINGS = (".tests.yaml", ".tests.yml")
_SECONDS = 120.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `streamapp test`."""
    group = parser.getgroup("streamapp", "tests of StreamApps")
    group.addoption(
        "--streamapp-once", action="store_true", help="run each test once, as the app is, not in other circumstances"
    )
    group.addoption(
        "--streamapp-timeout",
        type=float,
        default=_SECONDS,
        metavar="SECONDS",
        help="an app that has not ended by then has failed (default: %(default)g)",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "AppTestsFile | None":
    """Collect a file of tests whose app is beside it, or that the user has named."""
    app = _app_of(file_path)
    collected = app is not None and (app.is_file() or parent.session.isinitpath(file_path))
    return AppTestsFile.from_parent(parent, path=file_path) if collected else None


class AppTestsFile(pytest.File):
    """A file of tests of an app."""

    def collect(self) -> Iterator["AppTestItem"]:
        """Collect its tests; an app or tests with problems are an error that lists them."""
        try:
            yield from self._tests()
        except ModuleNotFoundError as missing:
            from streamapp_cli.runtime_imports import what_to_install

            raise self.CollectError(what_to_install(missing)) from None

    def _tests(self) -> Iterator["AppTestItem"]:
        from streamapp_cli.consoles import new_console
        from streamapp_core.app_tests.circumstances import ALL_CIRCUMSTANCES, AS_IT_IS

        app = _app_of(self.path)
        assert app is not None
        circumstances = (AS_IT_IS,) if self.config.getoption("streamapp_once") else ALL_CIRCUMSTANCES
        prepared = _prepare(self, app, circumstances)
        if prepared.tests is None:
            text = StringIO()
            prepared.print_problems(new_console(text), app.name, self.path.name)
            raise self.CollectError(text.getvalue())
        for test in prepared.tests:
            yield AppTestItem.from_parent(self, name=test.test.name, test=test, circumstances=circumstances)


class AppTestFailed(Exception):  # noqa: N818 - what pytest reports
    """A test has failed; the message says in which circumstances, and how the rows differ."""


class AppTestItem(pytest.Item):
    """A test of an app."""

    def __init__(
        self,
        *,
        name: str,
        parent: AppTestsFile,
        test: "PreparedTest",
        circumstances: "Sequence[Circumstances]",
    ) -> None:
        super().__init__(name, parent)
        self._test = test
        self._circumstances = circumstances

    def runtest(self) -> None:
        """Run the test in all circumstances.

        Raises:
            AppTestFailed: it failed in some.
        """
        from streamapp_cli.consoles import new_console
        from streamapp_cli.test_printer import print_failures
        from streamapp_runtime.app_tests.run_tests import run_tests

        seconds = self.config.getoption("streamapp_timeout")
        results = run_tests(
            [self._test], self._circumstances, self.path.parent, jobs=os.cpu_count() or 1, seconds=seconds
        )
        failures = [result for _, result in results if not result.passed]
        if failures:
            text = StringIO()
            print_failures(new_console(text), failures, len(self._circumstances))
            raise AppTestFailed(text.getvalue())

    def repr_failure(  # type: ignore[override]  # a text alone, as pytest's own example has it
        self, excinfo: pytest.ExceptionInfo[BaseException], style: None = None
    ) -> object:
        """Return the difference alone, without a traceback of ours."""
        return str(excinfo.value) if excinfo.errisinstance(AppTestFailed) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the test is."""
        return self.path, None, self.name


def _app_of(tests: Path) -> Path | None:
    """Return the file of the app whose tests a file has by its name; None if it has none."""
    ending = next((ending for ending in _ENDINGS if tests.name.endswith(ending)), None)
    return None if ending is None else tests.with_name(tests.name.removesuffix(ending) + Path(ending).suffix)


def _prepare(tests: AppTestsFile, app: Path, circumstances: "Sequence[Circumstances]") -> "PreparedFile":
    from streamapp_cli.app_files import embed_schemas
    from streamapp_cli.prepared_tests import prepare_file
    from streamapp_core.app_tests.app_test import parse_app_tests
    from streamapp_core.spec.parse import parse_text
    from streamapp_core.spec.yaml_document import DocumentError, read_document

    file = app
    try:
        text = embed_schemas(app.read_text(encoding="utf-8"), app.parent)
        parsed, (document, _) = parse_text(text), read_document(text)
        file = tests.path
        found, problems = parse_app_tests(tests.path.read_text(encoding="utf-8"))
    except (DocumentError, OSError, UnicodeDecodeError) as error:
        raise tests.CollectError(f"{file}: {error}") from None
    return prepare_file(document, parsed, found, problems, circumstances)
