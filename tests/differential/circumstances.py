"""Runs a random app on this machine, through stops and starts, and reads what it wrote."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from differential.random_apps import Case, Source
from streamapp_core import murmur2
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner
from support import apps

START = datetime(2024, 2, 28, 22, tzinfo=UTC)


def lay_out(folder: Path, case: Case) -> None:
    """Write the inputs: CSV files, or a keyed stream of the embedded log."""
    for name, source in case.sources.items():
        columns = [column.split()[0] for column in case.document["spec"]["streams"][name]["schema"].split(", ")]
        if source.system == "files":
            files = [[_line(row) for row in source.rows[n :: source.partitions]] for n in range(source.partitions)]
            apps.write_stream(folder, name, ",".join(columns), *files)
        else:
            _write_log(folder, name, columns, source)


def tables(case: Case) -> dict[str, pa.Table]:
    """Return the rows of each input as the reference takes them."""
    found = {}
    for name, source in case.sources.items():
        names = [column.split()[0] for column in case.document["spec"]["streams"][name]["schema"].split(", ")]
        columns = [list(column) for column in zip(*source.rows, strict=True)]
        times = [int((START.timestamp() + seconds) * 1000) for seconds in columns[-1]]
        kinds = [pa.int64(), pa.string(), pa.string(), pa.int64()]
        arrays = [pa.array(column, kind) for column, kind in zip(columns[:4], kinds, strict=True)]
        found[name] = pa.table([*arrays, pa.array(times, pa.int64())], names=[*names[:4], "t"])
    return found


def run(folder: Path, case: Case) -> None:
    """Run the app to its end; some starts are stopped after so many reports.

    Raises:
        PlanRefused: it was refused.
    """
    for reports in case.stops:
        with suppress(apps.Stop):
            apps.run(case.document, folder, fresh=False, listener=_stopping(reports))
    apps.run(case.document, folder, fresh=False)


def written(folder: Path, stream: Mapping[str, Any], key: tuple[str, ...] | None) -> Counter:
    """Read an output: all its rows, or, where there is a key, the last row of each."""
    rows = apps.rows(folder / stream["name"])
    if key is None:
        return Counter(rows)
    places = [("id", "k", "g", "v").index(column) for column in key]
    return Counter({tuple(row[place] for place in places): row for row in rows}.values())


def as_text(rows: list[tuple[Any, ...]]) -> Counter:
    """Return rows as a CSV output has them."""
    return Counter(tuple("" if value is None else str(value) for value in row) for row in rows)


def _line(row: tuple[Any, ...]) -> str:
    values = [*row[:-1], _at(row).isoformat()]
    return ",".join("NULL" if value is None else str(value) for value in values)


def _at(row: tuple[Any, ...]) -> datetime:
    return START + timedelta(seconds=row[-1])


def _write_log(folder: Path, name: str, columns: list[str], source: Source) -> None:
    stream = StreamDescriptor(name=name, system="log", address=name, format=StreamFormat.JSON)
    with closing(LogAdmin(folder / "log.db")) as admin:
        admin.create({stream: source.partitions})
    records: dict[int, list[bytes]] = defaultdict(list)
    for number, row in enumerate(source.rows):
        values = dict(zip(columns, [*row[:-1], _at(row).isoformat()], strict=True))
        key = row[1]
        place = (0 if key is None else _partition(key, source.partitions)) if source.keyed else number
        records[place % source.partitions].append(json.dumps(values).encode())
    with closing(LogProducer(folder / "log.db", [stream], TransactionOwner(id=f"writer-{name}", epoch=1))) as producer:
        for partition, values in records.items():
            for value in values:
                producer.send(Ssp("log", name, partition), value, key=None, timestamp=0)
        producer.commit()


def _partition(key: str, partitions: int) -> int:
    data = np.frombuffer(key.encode(), np.uint8)
    return int(murmur2.partitions(murmur2.murmur2(data, np.array([0, len(data)])), partitions)[0])


def _stopping(reports: int):
    left = iter(range(reports - 1))

    def listener(_: object) -> None:
        if next(left, None) is None:
            raise apps.Stop

    return listener
