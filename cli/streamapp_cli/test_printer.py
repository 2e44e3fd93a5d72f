"""The results of tests of an app, for people."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from streamapp_cli.counted import counted
from streamapp_core.app_tests.circumstances import Circumstances
from streamapp_runtime.app_tests.run_tests import RunResult

_COLORS = {"-": "red", "+": "green", " ": "dim"}


class AppTestPrinter:
    """The printer of the tests of a file: a line for each, in their order, then what differs."""

    def __init__(
        self, console: Console, title: str, names: Sequence[str], circumstances: Sequence[Circumstances]
    ) -> None:
        """Take where to print, the name of the file, those of its tests, and the circumstances each is run in."""
        self._console = console
        self._names = names
        self._circumstances = circumstances
        self._results: list[list[RunResult]] = [[] for _ in names]
        self._printed = 0
        in_each = "" if len(circumstances) == 1 else f", each in {len(circumstances)} circumstances"
        console.print(f"{title}: {counted(len(names), 'test')}{in_each}\n")

    @property
    def results(self) -> Mapping[str, Sequence[RunResult]]:
        """The results by test, in their order."""
        order = [one.name for one in self._circumstances]
        return {
            name: sorted(results, key=lambda result: order.index(result.circumstances.name))
            for name, results in zip(self._names, self._results, strict=True)
        }

    @property
    def failed(self) -> int:
        """The number of tests that have failed in any circumstances."""
        return sum(not all(result.passed for result in results) for results in self._results)

    def add(self, number: int, result: RunResult) -> None:
        """Add the result of a test in some circumstances; print those of tests that have all, in their order."""
        self._results[number].append(result)
        for results in self._results[self._printed :]:
            if len(results) < len(self._circumstances):
                break
            word = ("passed", "green") if all(one.passed for one in results) else ("FAILED", "bold red")
            self._console.print(Text.assemble("  ", word, f"  {self._names[self._printed]}"))
            self._printed += 1

    def summarize(self, seconds: float) -> None:
        """Print why tests have failed, and how many."""
        for name, results in self.results.items():
            failures = [result for result in results if not result.passed]
            if failures:
                self._console.print(Text.assemble("\n", (name, "bold")))
                print_failures(self._console, failures, len(self._circumstances))
        passed = len(self._names) - self.failed
        counts = [f"{self.failed} failed"] * bool(self.failed) + [f"{passed} passed"] * bool(passed)
        color = "bold red" if self.failed else "bold green"
        self._console.print(Text.assemble("\n", (", ".join(counts), color), f" in {seconds:.1f} s"))


def print_failures(console: Console, failures: Sequence[RunResult], circumstances: int) -> None:
    """Print why a test has failed in some of so many circumstances."""
    alike: dict[object, list[RunResult]] = {}
    for failure in failures:
        alike.setdefault((failure.failed, failure.differences), []).append(failure)
    for same in alike.values():
        in_all = len(same) == circumstances
        where = "" if in_all else f" ({'; '.join(failure.circumstances.name for failure in same)})"
        _print_failure(console, same[0], where)
    outcomes = {(bool(failure.failed), failure.differences) for failure in failures}
    if len(failures) < circumstances or len(outcomes) > 1:
        console.print("  The results are not the same in all circumstances: they depend on chance.")


def _print_failure(console: Console, failure: RunResult, where: str) -> None:
    if failure.failed:
        console.print(Text.assemble("  ", ("the app failed", "red"), f"{where}: {failure.failed}"))
    for output, lines in failure.differences:
        console.print(f"  {output}{where}: - expected, + written")
        for line in lines:
            console.print(Text(f"    {line.sign} {line.text}", style=_COLORS[line.sign]))
