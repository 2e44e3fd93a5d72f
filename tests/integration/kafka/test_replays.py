"""Replays of topics, and topics that are read from and to times and offsets."""

import time
import uuid
from contextlib import closing

import pytest

from streamapp_core.ssp import Ssp
from streamapp_core.time_formats import format_milliseconds
from support import dev_samples, read_positions, replays
from support.growth import HUB, Growing
from support.read_positions import positions


@pytest.fixture
def app(tmp_path, kafka):
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    return Growing(tmp_path, system, name=f"app-{uuid.uuid4().hex[:8]}")


def test_a_replay_gives_what_the_app_gave_and_leaves_its_run_alone(app):
    replays.play(app)


def test_a_sample_of_the_last_records_writes_nothing_to_the_brokers_topics(app, capsys):
    dev_samples.play(app, lambda: capsys.readouterr().out)


def test_from_a_time_to_a_time_rows_are_read_once_after_a_stop_and_while_more_come(app):
    read_positions.play_times(app)


def test_a_time_is_the_first_record_that_is_not_older_though_ends_of_transactions_are(app):
    now = time.time_ns() // 1_000_000 - 3_600_000
    app.write(0, 0, 0, 0, count=4, at=[now, now + 20, now + 10, now + 30])
    app.write(0, 1, count=4, at=now)
    ends = {0: 7, 1: 2, 2: 0, 3: 0}
    first = {
        after: positions(app, startingTimestamp=format_milliseconds(now + after))[0]
        for after in (0, 1, 11, 20, 21, 30, 31)
    }
    assert first[0] == {**ends, 0: 0, 1: 0}
    assert first[1] == first[11] == first[20] == {**ends, 0: 1}
    assert first[21] == first[30] == {**ends, 0: 3}
    assert first[31] == ends


def test_an_offset_whose_record_was_deleted_is_refused_with_those_there_are(app):
    replays.write_hours(app)
    partition = Ssp(HUB, "in", 0)
    with closing(app.admin()) as admin:
        admin.delete_records([app.stream("in")], {partition: 4})
        end = admin.end_offsets([app.stream("in")])[partition]
    result = replays.replay(app.folder, "--from", "in:0=2", "--run-id", "r2")
    assert result.exit_code == 1
    assert f"can't be read from or to offset 2: its oldest record has 4, and it ends at {end}" in result.stderr
