"""Outputs in files with `commitEvery`: the rows of many commits are one file, and each row is there once."""

import pyarrow.parquet as pq
import pytest

from streamapp_runtime.errors import Drained
from support import log_messages
from support.apps import parts, run, run_until
from support.log_messages import LogRecord

BATCHES, ROWS = 6, 10


def document(**rolling):
    """Give an app from a stream that never ends to files."""
    spec = {
        "systems": {"files": {"file": {"path": ".", **rolling}}, "log": {"log": {"path": "log.db"}}},
        "defaultSystem": "log",
        "streams": {"in": {"system": "log", "schema": "k int"}, "out": {"system": "files", "format": "parquet"}},
        "operators": [{"name": "sent", "from": "in", "sendTo": "out"}],
        "job": {"commitInterval": "20ms"},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


class Source:
    """A program that writes some rows when it is told that the app has written all those before."""

    def __init__(self, folder, first=0):
        self._folder = folder
        self._written = self.last = first
        self._end = first + BATCHES * ROWS
        self.all_written = False
        self.write()

    def write(self):
        """Write the next rows."""
        records = [LogRecord(b'{"k": %d}' % k) for k in range(self.last, self.last + ROWS)]
        log_messages.write(self._folder, "in", 1, records, epoch=1 + self.last)
        self.last += ROWS

    def told(self, summary):
        """See how far the app is."""
        if summary.written.get("out", 0) < self.last:
            return
        if self.last < self._end:
            self.write()
        else:
            self.all_written = True


def numbers(folder):
    """Give the numbers of all rows that a reader sees."""
    return sorted(k for path in parts(folder / "out") for k in pq.read_table(path).column("k").to_pylist())


@pytest.mark.parametrize("every", ["1h", None])
def test_rows_of_many_commits_are_one_file_when_the_app_is_stopped(tmp_path, every):
    source, seen = Source(tmp_path), []

    def listener(summary):
        if not source.all_written:
            seen.append(len(parts(tmp_path / "out")))
        source.told(summary)

    rolling = {} if every is None else {"commitEvery": every}
    with pytest.raises(Drained):
        run(document(**rolling), tmp_path, fresh=False, listener=listener, drain=lambda: source.all_written)
    assert numbers(tmp_path) == list(range(source.last))
    written = len(parts(tmp_path / "out"))
    assert written >= BATCHES if every is None else (max(seen), written) == (0, 1)


def test_rows_that_wait_appear_at_the_next_start(tmp_path):
    source, app = Source(tmp_path), document(commitEvery="1h")
    run_until(tmp_path, app, lambda: source.all_written, told=source.told)
    assert numbers(tmp_path) == []
    run_until(tmp_path, app, lambda: numbers(tmp_path) == list(range(source.last)))
    assert len(parts(tmp_path / "out")) == 1


@pytest.mark.parametrize("rolling", [{"commitEvery": "200ms"}, {"commitEvery": "1h", "targetFileSize": "1k"}])
def test_files_appear_while_the_app_runs_by_time_and_size(tmp_path, rolling):
    source = Source(tmp_path)
    run_until(tmp_path, document(**rolling), lambda: len(numbers(tmp_path)) > source.last / 2, told=source.told)
    assert numbers(tmp_path) == list(range(len(numbers(tmp_path))))


def test_files_may_be_taken_away_once_the_app_has_stopped(tmp_path):
    """What is listed as to be published is looked for at the next start, where it would count as lost."""
    source, app = Source(tmp_path), document(commitEvery="1h")
    with pytest.raises(Drained):
        run(app, tmp_path, fresh=False, listener=source.told, drain=lambda: source.all_written)
    (taken,) = parts(tmp_path / "out")
    taken.unlink()
    more = Source(tmp_path, source.last)
    with pytest.raises(Drained):
        run(app, tmp_path, fresh=False, listener=more.told, drain=lambda: more.all_written)
    assert numbers(tmp_path) == list(range(source.last, more.last))
