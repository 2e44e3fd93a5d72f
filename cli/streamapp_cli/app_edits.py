"""The edits of an app that is developed: the files that count, and whether a run goes on with what they are now."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from watchfiles import Change, DefaultFilter

from streamapp_core.spec.app import StreamApp, StreamAppSpec
from streamapp_runtime.driver.local_edits import edits_of_new_runs
from streamapp_runtime.errors import RuntimeFailure

_STATE = ".streamapp"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRun:
    """A run that was started of an app; `completed` if it has come to its end."""

    app: StreamApp
    completed: bool


class AppFilter(DefaultFilter):
    """Filter of the saves of an app: its file, `schema_files`, and Python but for that in folders of tools."""

    def __init__(self, file: Path) -> None:
        """Take the app's file."""
        super().__init__(ignore_dirs=(*self.ignore_dirs, _STATE))
        self.schema_files: frozenset[Path] = frozenset()
        self._file = file

    def __call__(self, change: Change, path: str) -> bool:
        """Return whether what has changed is one of those; what is deleted is no save."""
        if change is Change.deleted:
            return False
        saved = Path(path)
        own = saved == self._file or saved in self.schema_files
        return own or (saved.suffix == ".py" and super().__call__(change, path))


def schema_files(spec: StreamAppSpec, folder: Path) -> Iterator[Path]:
    """Yield the files of schemas that a spec names, which are in a folder."""
    for stream in spec.streams.values():
        for name in (stream.avro.schema_file, stream.protobuf.schema_file):
            if name is not None:
                yield folder / name


def begins_new_run(before: StartedRun, app: StreamApp, *, fresh: bool) -> bool:
    """Return whether an app begins a new run after the one before; it goes on with that one's state if it can.

    Raises:
        RuntimeFailure: it would have to begin a new one, which is not `fresh`, or it is another app.
    """
    if app.metadata != before.app.metadata:
        raise RuntimeFailure("metadata: this is another app now, with a run of its own: start `streamapp dev` again")
    edits = edits_of_new_runs(before.app.spec, app.spec)
    if not edits and not before.completed:
        return False
    if not fresh:
        goes_on = "the run has completed" if before.completed else "the run that there is goes on without this edit"
        raise RuntimeFailure(
            f"{', '.join(edits) or 'the code'} was edited, which takes a new run; {goes_on}. `streamapp dev --fresh` "
            "begins a new run with each such edit, and deletes the one before with its results in files"
        )
    return True
