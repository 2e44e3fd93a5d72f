"""The tests of a file, made ready to be run, or the problems of app and tests."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from streamapp_cli.print_problems import print_problems
from streamapp_core.app_tests.app_test import AppTestFile
from streamapp_core.app_tests.circumstances import Circumstances
from streamapp_core.problems import Problem, sorted_problems
from streamapp_core.spec.parse import ParsedApp
from streamapp_runtime.app_tests.prepare_tests import PreparedTest, prepare_tests


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedFile:
    """The tests of a file, None if there are problems: those of the app, and those of the tests."""

    tests: tuple[PreparedTest, ...] | None
    of_app: tuple[Problem, ...]
    of_tests: tuple[Problem, ...]

    def print_problems(self, console: Console, app: str, tests: str) -> None:
        """Print the problems there are, by the names of both files."""
        for name, problems in ((app, self.of_app), (tests, self.of_tests)):
            if problems:
                print_problems(console, name, problems)


def prepare_file(
    document: object,
    parsed: ParsedApp,
    found: AppTestFile | None,
    problems: tuple[Problem, ...],
    circumstances: Sequence[Circumstances],
) -> PreparedFile:
    """Make the tests of a file ready to be run; `problems` are those of its form, None in place of it: it has none."""
    tests: tuple[PreparedTest, ...] = ()
    of_app = parsed.problems
    if found is not None and isinstance(document, dict):
        tests, more = prepare_tests(document, parsed, found.tests, circumstances)
        of_app = tuple(problem for problem in more if not problem.path.startswith("tests["))
        problems = sorted_problems((*problems, *(problem for problem in more if problem not in of_app)))
    return PreparedFile(tests=None if of_app or problems else tests, of_app=of_app, of_tests=problems)
