"""Rows that are far wider than most, and more of them than one record of a broker takes."""

import json
import uuid
from contextlib import closing

import pytest

from streamapp_core.spec.parse import parse_text
from streamapp_core.ssp import Ssp
from streamapp_runtime.driver.verify_run import verify_run
from streamapp_runtime.execution_context import local_context
from streamapp_systems.protocols import SentRecords
from support.growth import HUB, Growing

ROWS, TEXT = 12_000, "wide " * 50


@pytest.fixture
def source(tmp_path, kafka):
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    return Growing(tmp_path, system, name=f"app-{uuid.uuid4().hex[:8]}", partitions=1)


def wide(source):
    """Give an app that shuffles wide rows and pairs each with itself."""
    operators = [
        {"name": "by-k", "from": "in", "partitionBy": {"key": "k"}},
        {"name": "others", "from": "in", "map": "k as other, n as m"},
        {"name": "by-other", "from": "others", "partitionBy": {"key": "other"}},
        {
            "name": "paired",
            "from": "by-k",
            "join": {"with": "by-other", "on": {"left": "k", "right": "other"}, "within": "1h"},
        },
        {"name": "sent", "from": "paired", "sendTo": "out"},
    ]
    document = source.document(operators=operators, processors=1, commitInterval="1s", intermediateStreamPartitions=1)
    document["spec"]["streams"]["in"] |= {"schema": "k int, n int, text string"}
    return document


def write(source, first):
    values = [json.dumps({"k": n, "n": n, "text": TEXT}).encode() for n in range(first, first + ROWS)]
    times = [1_700_000_000_000 + n for n in range(first, first + ROWS)]
    with closing(source.producer("source", 1)) as producer:
        producer._producer.send_all(
            Ssp(HUB, "in", 0), SentRecords.of(timestamps=times, keys=[None] * ROWS, values=values)
        )
        producer.commit()


def test_a_backlog_of_wide_rows_is_shuffled_and_kept_and_found_again_after_a_restart(source, tmp_path):
    document = wide(source)
    for written in (ROWS, 2 * ROWS):
        write(source, written - ROWS)
        source.run(document, lambda summary, written=written: source.copied(summary, written))
    found = source.rows("out")
    assert sorted(row["n"] for row in found) == list(range(2 * ROWS))
    assert all(row["n"] == row["m"] and row["text"] == TEXT for row in found)
    (state,) = (tmp_path / ".streamapp").iterdir()
    parsed = parse_text(json.dumps(document))
    assert all(verdict.equal for verdict in verify_run(parsed.app, local_context(tmp_path), state))
