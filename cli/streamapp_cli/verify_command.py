"""`streamapp verify`: the comparison of an app's state on this machine with its changelog."""

from pathlib import Path

from rich.console import Console

from streamapp_cli.app_files import exit_with_error, state_folder
from streamapp_cli.consoles import new_console
from streamapp_cli.plan_inputs import read_app
from streamapp_cli.print_problems import print_problems
from streamapp_cli.text_tables import new_table
from streamapp_runtime.driver.verify_run import verify_run
from streamapp_runtime.errors import FAILURES
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.state.changelog_verification import EntryDifference, StateVerdict
from streamapp_runtime.state.store_size import add_sizes

EQUAL, DIFFERENT = 0, 1
_SHOWN_BYTES = 40


def verify_app(file: Path, *, state_dir: Path | None) -> int:
    """Compare the stores of all tasks with their changelog, print what was found, and return the exit code."""
    console = new_console()
    parsed = read_app(file)
    if parsed.app is None:
        print_problems(console, file.stem, parsed.problems)
        return DIFFERENT
    name, folder = parsed.app.metadata.name, file.absolute().parent
    state = state_folder(file, name, state_dir)
    try:
        with console.status(f"{name}: reading the changelog"):
            verdicts = list(verify_run(parsed.app, local_context(folder), state))
    except FAILURES as failure:
        exit_with_error(f"{name}: {failure}", DIFFERENT)
    _print(console, verdicts)
    wrong = sum(not verdict.equal for verdict in verdicts)
    console.print(f"{name}: {wrong} of {len(verdicts)} tasks differ" if wrong else f"{name}: the state is right")
    return DIFFERENT if wrong else EQUAL


def _print(console: Console, verdicts: list[StateVerdict]) -> None:
    table = new_table(console, "task", "records", "keys", "position", "state")
    for verdict in verdicts:
        position = "" if verdict.position is None else f"{verdict.position:,}"
        table.add_row(verdict.task, f"{verdict.records:,}", f"{verdict.keys:,}", position, _word(verdict))
    console.print(table)
    sizes = add_sizes(verdict.sizes for verdict in verdicts)
    if sizes:
        stores = new_table(console, "state of", "entries", "bytes")
        for name, size in sorted(sizes.items()):
            stores.add_row(name, f"{size.entries:,}", f"{size.bytes:,}")
        console.print(stores)
    for verdict in verdicts:
        for difference in verdict.differences:
            console.print(f"{verdict.task}: {_difference_text(difference)}")


def _word(verdict: StateVerdict) -> str:
    if verdict.wrong is not None:
        return verdict.wrong
    if verdict.position is None:
        return "not here, or not to be believed: the next start makes it"
    return "differs" if verdict.differences else "equal"


def _difference_text(difference: EntryDifference) -> str:
    where = f"store {difference.store}, key {_shown(difference.key)}"
    if difference.found is None:
        return f"{where}: missing; the changelog has {_shown(difference.expected)}"
    if difference.expected is None:
        return f"{where}: {_shown(difference.found)}, of which the changelog knows nothing"
    return f"{where}: {_shown(difference.found)}; the changelog has {_shown(difference.expected)}"


def _shown(data: bytes | None) -> str:
    assert data is not None
    return repr(data[:_SHOWN_BYTES])[1:] + ("..." if len(data) > _SHOWN_BYTES else "")
