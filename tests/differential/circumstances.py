"""Runs a random app through stops, deaths and growth to its end, and compares what it wrote with the reference."""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from differential import forked_starts, reference
from differential.cases import DELETION, Case, Row, Source, Stage
from differential.forked_starts import Outcome, StartRequest, Starts
from differential.key_kinds import KINDS, KeyKind
from differential.random_inputs import LAST, place, record_key
from streamapp_core.plan import plan
from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner
from support import apps

START = datetime(2024, 2, 28, 22, tzinfo=UTC)
UNTIL = START + timedelta(days=5)
"""A time after all rows but the last ones of streams without an end."""
DELETED = "d"
"""The last column of a row of a file that deletes its key."""
_COLUMNS = ("id", "k", "g", "v")
_FOUND = len(_COLUMNS)
"""The place of what a row has found in a table."""
WAIT = 0.05
QUIET = 12.0
"""Seconds without any progress after which an app without an end has come to nothing more."""
LONGEST_START = 6
"""The reports after which an app without an end is stopped if the next rows come at a later start."""
AGREED = 3
"""The reports for which an app without an end goes on when its results are right: it could add some."""
PROBED = 6
"""The reports for which it goes on after it has read rows that look up what is in its tables."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What became of a case. `difference` is a text; empty if there is none, or nothing was compared."""

    outcome: Outcome
    compared: int = 0
    growth_refused: bool = False
    difference: str = ""


def examine(folder: Path, case: Case, starts: Starts) -> Finding:
    """Run a case in a folder of its own, and compare it with the reference."""
    refused = problems(case)
    if refused:
        return Finding(outcome=Outcome(refused=refused))
    folder.mkdir(parents=True)
    run = _Run(folder, case, starts)
    outcome = run.to_the_end()
    if outcome.refused or run.growth_refused:
        return Finding(outcome=outcome, growth_refused=run.growth_refused)
    if outcome.failed:
        return Finding(outcome=outcome, difference=outcome.failed)
    differences = [*run.differences()] or [*run.lost_in_tables()]
    return Finding(outcome=outcome, compared=len(run.expected), difference="\n".join(differences))


class _Run:
    """A case that runs: the next stages of its inputs are written when it is their time."""

    def __init__(self, folder: Path, case: Case, starts: Starts) -> None:
        self._folder, self._case, self._starts = folder, case, starts
        self._streams = case.document["spec"]["streams"]
        self._kind = KINDS[case.keys]
        found = reference.results(case.document, _tables(case), _milliseconds(UNTIL))
        self.expected = {
            name: (expected.key, Counter(tuple(self._canonical(row)) for row in expected.rows))
            for name, expected in found.items()
        }
        self._versions = {name: expected.versions for name, expected in found.items() if expected.versions is not None}
        self.growth_refused = False
        self._at_end = False
        self._agreed = False
        self._probes: dict[str, int] = {}
        self._written: dict[str, int] = {}
        self._last_written: set[str] = set()

    def to_the_end(self) -> Outcome:
        """Start the app as often as the case says, and once more; return how it ended."""
        for name, source in self._case.sources.items():
            self._written[name] = 0
            if source.system == "files":
                self._write_files(name, source)
            else:
                self._write_stage(name, source)
        for number, start in enumerate(self._case.starts):
            outcome = self._start(number, start.processors, start.reports, start.fail_point)
            if outcome.refused or outcome.failed or outcome.completed or self._at_end:
                return outcome
        return self._start(len(self._case.starts), self._case.document["spec"]["processors"]["count"])

    def differences(self) -> Iterator[str]:
        """Compare the outputs with what they should be; where partitions were idle, results may be waiting."""
        for name, (key, rows) in self.expected.items():
            found = self._found(name, key)
            if (found - rows and key is None) if self._case.idle else found != rows:
                yield f"{name}: missing {_listed(rows - found)}, too many {_listed(found - rows)}"
        for name, versions in self._versions.items():
            wrong = wrong_versions(self._rows(name), versions, self._kind)
            if wrong:
                yield f"{name}: found in a table what its key never had there: {_listed(wrong)}"

    def lost_in_tables(self) -> Iterator[str]:
        """Write all rows of the endless inputs once more when all results are there; start with other processors.

        What a table got before must be found now, which is not known of any earlier row.
        """
        if not self._agreed or not any(versions.rows for versions in self._versions.values()):
            return
        before = {name: Counter(self._rows(name)) for name in self._versions}
        for name, source in self._case.sources.items():
            if source.last:
                again = [(index, (*row[:-1], LAST)) for index, row in enumerate(source.rows)]
                self._write(name, source, again, source.partitions)
                self._probes[name] = len(again)
        processors = self._case.document["spec"]["processors"]["count"] % 3 + 1
        outcome = self._start(len(self._case.starts) + 1, processors)
        if outcome.failed:
            yield outcome.failed
        for name, versions in self._versions.items():
            lost = lost_versions(Counter(self._rows(name)) - before[name], versions, self._kind)
            if lost:
                yield f"{name}: did not find in a table what its key had there: {_listed(lost)}"

    def _start(
        self, number: int, processors: int, reports: int | None = None, fail_point: str | None = None
    ) -> Outcome:
        for name, source in self._case.sources.items():
            while self._next(name, source) is not None and self._due(source, name, number, None):
                self._write_stage(name, source)
        request = StartRequest(
            folder=str(self._folder),
            document=self._case.document,
            processors=processors,
            reports=reports,
            fail_point=fail_point,
        )
        self._starts.start(request)
        seen, moved, agreed, wanted = None, time.monotonic(), 0, PROBED if self._probes else AGREED
        while (outcome := self._starts.ended(WAIT)) is None:
            progress = forked_starts.progress(self._folder)
            if progress is None or (seen is not None and progress.reports == seen.reports):
                continue
            if self._feed(number, progress) or seen is None or _moved(progress, seen):
                moved = time.monotonic()
            seen = progress
            self.growth_refused = self.growth_refused or bool(progress.summary.refused)
            agreed = agreed + 1 if self._has_all(progress) else 0
            self._agreed = self._agreed or agreed == wanted
            quiet = not self._case.bounded and self._all_read(progress) and time.monotonic() - moved > QUIET
            later = any(self._waits(source, name, number) for name, source in self._case.sources.items())
            if self.growth_refused or agreed == wanted or quiet or (later and progress.reports >= LONGEST_START):
                self._at_end = not later
                (self._folder / forked_starts.STOP).touch()
        return outcome

    def _has_all(self, progress: forked_starts.ProgressReport) -> bool:
        """Return whether an app without an end has its results; of rows that are written once more, none are known."""
        if self._probes:
            return self._all_read(progress)
        return not self._case.bounded and self._all_written() and self._agrees()

    def _feed(self, number: int, progress: forked_starts.ProgressReport) -> bool:
        """Write what is due while the app runs; return whether there was anything."""
        counts = {stream.name: stream.partitions for stream in progress.summary.streams}
        fed = False
        for name, source in self._case.sources.items():
            if self._next(name, source) is not None:
                if self._due(source, name, number, progress.reports) and self._noticed(source, name, counts):
                    self._write_stage(name, source)
                    fed = True
            elif source.last and name not in self._last_written and counts.get(name) == source.partitions:
                self._write(name, source, [(len(source.rows), row) for row in source.last], source.partitions)
                self._last_written.add(name)
                fed = True
        return fed

    def _noticed(self, source: Source, name: str, counts: Mapping[str, int]) -> bool:
        """Return whether the app reads all partitions there were before the next stage."""
        written = self._written[name]
        return written == 0 or counts.get(name) == source.stages[written - 1].partitions

    def _next(self, name: str, source: Source) -> Stage | None:
        written = self._written[name]
        return source.stages[written] if written < len(source.stages) else None

    def _due(self, source: Source, name: str, number: int, reports: int | None) -> bool:
        stage = self._next(name, source)
        assert stage is not None
        if stage.reports == 0 or stage.start < number:
            return stage.start <= number
        return reports is not None and stage.start == number and stage.reports <= reports

    def _waits(self, source: Source, name: str, number: int) -> bool:
        """Return whether rows of an input come at a later start only."""
        stage = self._next(name, source)
        return stage is not None and stage.start > number

    def _all_read(self, progress: forked_starts.ProgressReport) -> bool:
        """Return whether the app has read what there is, so that nothing but time could bring it further."""
        read = {stream.name: stream.read for stream in progress.summary.streams}
        return all(read.get(name, 0) >= self._rows_written(name, source) for name, source in self._case.sources.items())

    def _rows_written(self, name: str, source: Source) -> int:
        written = self._written[name]
        end = len(source.rows) if source.system == "files" else source.stages[written - 1].end
        return end + (len(source.last) if name in self._last_written else 0) + self._probes.get(name, 0)

    def _all_written(self) -> bool:
        return all(not source.last or name in self._last_written for name, source in self._case.sources.items())

    def _agrees(self) -> bool:
        return all(self._found(name, key) == rows for name, (key, rows) in self.expected.items())

    def _found(self, name: str, key: tuple[str, ...] | None) -> Counter:
        """Read an output: all its rows, or, where there is a key, the last row of each that is not deleted.

        What a table gave is left out.
        """
        rows = self._rows(name)
        if key is None:
            return Counter(row[: len(_COLUMNS)] for row in rows)
        places = [_COLUMNS.index(column) for column in key]
        last = {tuple(row[place] for place in places): row for row in rows}
        return Counter(row[: len(_COLUMNS)] for row in last.values() if row[-1] != DELETED)

    def _rows(self, name: str) -> list[tuple[str, ...]]:
        return [tuple(self._canonical(row)) for row in apps.rows(self._folder / self._streams[name]["name"])]

    def _canonical(self, row: Sequence[Any]) -> Iterator[str]:
        for place_, value in enumerate(row):
            text = "" if value is None else str(value)
            yield self._kind.canonical(text) if place_ in (1, 2) and text else text

    def _write_files(self, name: str, source: Source) -> None:
        files: list[list[str]] = [[] for _ in range(source.partitions)]
        for index, row in enumerate(source.rows):
            values = [*row[:-1], _at(row).isoformat()]
            line = ",".join("NULL" if value is None else str(value) for value in values)
            files[place(source, self._kind, index, row, source.partitions)].append(line)
        apps.write_stream(self._folder, name, ",".join(_columns(self._case, name)), *files)
        self._written[name] = len(source.stages)

    def _write_stage(self, name: str, source: Source) -> None:
        """Give a stream of the log its next partitions, and write the rows that come then."""
        number = self._written[name]
        stage = source.stages[number]
        begin = source.stages[number - 1].end if number else 0
        with closing(LogAdmin(self._folder / "log.db")) as admin:
            if number == 0:
                admin.create({_descriptor(name): stage.partitions})
            else:
                admin.expand(_descriptor(name), stage.partitions)
        self._write(name, source, list(enumerate(source.rows[: stage.end]))[begin:], stage.partitions)
        self._written[name] = number + 1

    def _write(self, name: str, source: Source, rows: Sequence[tuple[int, Row]], partitions: int) -> None:
        columns = _columns(self._case, name)
        records: dict[int, list[tuple[bytes | None, bytes | None]]] = defaultdict(list)
        for index, row in rows:
            keys = [self._kind.json(value) for value in row[1:3]]
            values = dict(zip(columns, [row[0], *keys, row[3], _at(row).isoformat()], strict=True))
            # The last rows of streams of which not all keys are in one place are each for the partition of their id.
            last = index >= len(source.rows) and source.placing == "anywhere"
            number = row[0] if last else place(source, self._kind, index, row, partitions)
            encoded = None if row[3] == DELETION else json.dumps(values).encode()
            records[number].append((record_key(source, row).encode() if source.changes else None, encoded))
        owner = TransactionOwner(id=f"writer-{name}", epoch=self._written[name] + len(self._last_written) + 1)
        with closing(LogProducer(self._folder / "log.db", [_descriptor(name)], owner)) as producer:
            for partition, pairs in records.items():
                for key, value in pairs:
                    producer.send(Ssp("log", name, partition), value, key=key, timestamp=0)
            producer.commit()


def wrong_versions(rows: Sequence[tuple[str, ...]], versions: reference.Versions, kind: KeyKind) -> Counter:
    """Return the rows that found something in a table which their key never had."""
    if versions.rows is None:
        return Counter()
    known = _known(versions, kind)
    place_ = _COLUMNS.index(versions.on)
    return Counter(row for row in rows if row[_FOUND] and row[_FOUND] not in known.get(row[place_], ()))


def lost_versions(rows: Counter, versions: reference.Versions, kind: KeyKind) -> Counter:
    """Return the rows that found nothing in a table where there is something for their key."""
    known = _known(versions, kind)
    place_ = _COLUMNS.index(versions.on)
    live = {row: count for row, count in rows.items() if row[-1] != DELETED}
    return Counter({row: count for row, count in live.items() if not row[_FOUND] and row[place_] in known})


def _known(versions: reference.Versions, kind: KeyKind) -> Mapping[str, set[str]]:
    """Return the values that each key ever had in a table."""
    known: defaultdict[str, set[str]] = defaultdict(set)
    for key, value in versions.rows or ():
        if key is not None:
            known[kind.canonical(str(key))].add(str(value))
    return known


def problems(case: Case) -> tuple[str, ...]:
    """Plan the app as its first start will; return the codes of the problems."""
    counts = {name: source.stages[0].partitions for name, source in case.sources.items()}
    return tuple(str(problem.code) for problem in plan(parse_text(json.dumps(case.document)), counts).problems)


def _moved(progress: forked_starts.ProgressReport, before: forked_starts.ProgressReport) -> bool:
    """Return whether an app has done anything between two reports: read, written, or come to a later watermark."""
    now, then = progress.summary, before.summary
    return (now.streams, now.written) != (then.streams, then.written)


def _tables(case: Case) -> dict[str, pa.Table]:
    """Return the rows of each input as the reference takes them: of equal keys, one way to write them.

    Of changes, these are the newest ones.
    """
    kind = KINDS[case.keys].arrow
    found = {}
    for name, source in case.sources.items():
        rows = [*source.rows, *source.last]
        if source.changes:
            rows = [row for row in {record_key(source, row): row for row in rows}.values() if row[3] != DELETION]
        columns = [[row[place_] for row in rows] for place_ in range(5)]
        keys = [[value + 0.0 if isinstance(value, float) else value for value in column] for column in columns[1:3]]
        times = [_milliseconds(_at(row)) for row in rows]
        arrays = [
            pa.array(columns[0], pa.int64()),
            *(pa.array(column, kind) for column in keys),
            pa.array(columns[3], pa.int64()),
            pa.array(times, pa.int64()),
        ]
        found[name] = pa.table(arrays, names=[*_columns(case, name)[:4], "t"])
    return found


def _columns(case: Case, stream: str) -> list[str]:
    """Return the names of an input's columns; the types of keys may have commas in them."""
    return [column.split()[0] for column in case.document["spec"]["streams"][stream]["schema"].split(", ")]


def _descriptor(name: str) -> StreamDescriptor:
    return StreamDescriptor(name=name, system="log", address=name, format=StreamFormat.JSON)


def _at(row: Row) -> datetime:
    return START + timedelta(seconds=row[-1])


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _listed(rows: Counter) -> str:
    shown = [f"{','.join(row)}{f' x{count}' if count > 1 else ''}" for row, count in sorted(rows.items())[:6]]
    return f"[{' | '.join(shown)}{' ...' if len(rows) > 6 else ''}]"
