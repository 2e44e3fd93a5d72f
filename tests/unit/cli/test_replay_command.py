"""Replays: an app once more, beside its own run, from a time or offsets."""

import json

import pytest
import yaml

from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.spec.parse import parse_text
from support import apps
from support.growth import Growing
from support.replays import KEYS, numbers, play, replay, write_hours


@pytest.fixture
def source(tmp_path):
    return Growing(tmp_path, {"log": {"path": "log.db"}})


def test_a_replay_gives_what_the_app_gave_and_leaves_its_run_alone(source):
    play(source)


def test_offsets_are_of_their_partitions_and_the_others_begin_at_the_time(source):
    hours = write_hours(source)
    result = replay(source.folder, "--from", hours[2], "--from", "in:0=8", "--run-id", "r2")
    assert result.exit_code == 0, result.output
    assert numbers(source, "r2") == {key: [1, 2] if key % 4 == 0 else [2] for key in KEYS}
    assert f"reads in from {hours[2]}, from offset 8 of partition 0 to its present end" in result.stdout
    assert "writes out to app.out-r2 in hub" in result.stdout


def test_a_replay_is_named_by_its_run_id_and_begins_once(source):
    hours = write_hours(source)
    assert replay(source.folder, "--run-id", "r2").exit_code == 0
    source.write(*KEYS, count=4)
    assert replay(source.folder, "--run-id", "r2").exit_code == 0
    assert numbers(source, "r2") == {key: [0, 1, 2] for key in KEYS}
    other = replay(source.folder, "--from", hours[1], "--run-id", "r2")
    assert other.exit_code == 1
    assert "replay r2 began with another app, or with other positions or outputs" in other.stderr
    lines = replay(source.folder, "--output", "json", "--from", hours[1]).stdout.splitlines()
    first, last = json.loads(lines[0]), json.loads(lines[-1])
    assert (first["event"], last["event"]) == ("replay", "completed")
    assert first["reads"] == {"in": f"from {hours[1]} to its present end"}
    assert numbers(source, first["app"].removeprefix("app-")) == {key: [1, 2, 3] for key in KEYS}


def test_into_the_live_outputs_rows_follow_those_there_are(source):
    hours = write_hours(source)
    source.run(source.document(), source.all_copied)
    assert replay(source.folder, "--from", hours[2], "--outputs", "live").exit_code == 0
    assert source.numbers() == {key: [0, 1, 2, 2] for key in KEYS}


def test_a_replay_can_be_printed_and_is_an_app_as_others_are(source):
    hours = write_hours(source)
    document = source.document()
    document["metadata"] |= {"namespace": "team", "uid": "u", "labels": {"a": "b"}, "resourceVersion": "7"}
    document["spec"] |= {"runId": "live", "suspend": True}
    document["spec"]["streams"]["in"]["startFrom"] = "latest"
    (source.folder / "app.yaml").write_text(json.dumps(document | {"status": {"phase": "Running"}}))
    result = replay(source.folder, "--from", hours[1], "--follow", "--run-id", "r2", "--print")
    printed = yaml.safe_load(result.stdout)
    assert printed["metadata"] == {"name": "app-r2", "namespace": "team", "labels": {"a": "b"}}
    assert printed["spec"]["streams"]["in"] == source.document()["spec"]["streams"]["in"] | {
        "startingTimestamp": hours[1]
    }
    assert printed["spec"]["runId"] == "r2"
    assert not {"status", "suspend"} & {*printed, *printed["spec"]}
    assert make_plan(parse_text(result.stdout), {"in": 4}).problems == ()


def test_what_must_be_whole_is_read_from_its_beginning_and_folders_are_renamed(source):
    hours = write_hours(source)
    apps.write_stream(source.folder, "names", "k,name", ["1,one"])
    document = source.document()
    spec = document["spec"]
    spec["systems"]["files"] = {"file": {"path": "."}}
    spec["streams"] |= {
        "names": {"system": "files", "format": "csv", "schema": "k int, name string", "broadcast": True},
        "rates": {"system": "hub", "name": "app.in", "schema": "k int, n int", "key": "k"},
        "out": {"system": "files", "format": "csv", "name": "out/all/"},
    }
    spec["tables"] = {
        "name": {"key": "k", "sideInputs": ["names"]},
        "rate": {"key": "k", "schema": "k int, n int", "value": "n as rate"},
    }
    spec["operators"] += [
        {"name": "filled", "from": "rates", "sendToTable": "rate"},
        {"name": "rated", "from": "in", "joinTable": {"table": "rate", "on": "k", "type": "left"}},
        {"name": "named", "from": "rated", "joinTable": {"table": "name", "on": "k", "type": "left"}},
        {"name": "rest", "from": "named", "filter": "false"},
        {"name": "dropped", "from": "rest", "sendTo": "counts"},
    ]
    spec["operators"] = [o for o in spec["operators"] if o["name"] not in ("counted", "told")]
    (source.folder / "app.yaml").write_text(json.dumps(document))
    result = replay(source.folder, "--from", hours[1], "--run-id", "r2")
    assert result.exit_code == 0, result.output
    assert f"reads in from {hours[1]} to its present end" in result.stdout
    assert "reads rates from its beginning to its present end" in result.stdout
    assert "reads names from its beginning to its present end" in result.stdout
    assert "writes out to out/all-r2 in files" in result.stdout
    assert len(apps.rows(source.folder / "out" / "all-r2")) == 2 * len(KEYS)
    refused = replay(source.folder, "--from", "rates:0=1", "--run-id", "r3")
    assert refused.exit_code == 1
    assert "`rates` is read from its beginning: it fills a table" in refused.stdout
    live = replay(source.folder, "--outputs", "live")
    assert "out: files and tables belong to the app that writes them" in live.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--from", "yesterday"], "--from: 'yesterday' is no time; write a date, a time of day and a zone"),
        (["--from", "in:0=1", "--from", "in:0=2"], "partition 0 of in has an offset already"),
        (["--from", "earliest", "--from", "in:0=2"], "earliest is all of every stream"),
        (["--to", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z"], "a time is that of all streams"),
        (["--from", "none:0=1"], "app has no stream none with offsets; it reads in"),
        (["--to", "in:0=1", "--follow"], "a replay that goes on for ever has no end"),
        (["--from", "in:9=1"], "app.in has no partition 9; it has 4, and the first is 0"),
        (["--run-id", "x" * 60], "names have 63: shorten --run-id"),
        (["--host", "processes", "--master", "spark://h:1"], "leave one of them out"),
    ],
)
def test_what_can_not_be_replayed_says_why(source, options, why):
    write_hours(source)
    result = replay(source.folder, *options)
    assert result.exit_code in (1, 2)
    assert why in result.stderr


def test_why_an_app_is_refused_is_an_event_or_goes_where_no_app_is_printed(source):
    hours = write_hours(source)
    late = ["--from", hours[2], "--to", hours[0]]
    refused = json.loads(replay(source.folder, *late, "--output", "json").stdout)
    assert (refused["event"], refused["problems"][0]["path"]) == ("refused", "spec.streams.in.endingTimestamp")
    printed = replay(source.folder, *late, "--print")
    assert (printed.exit_code, printed.stdout) == (1, "")
    assert "nothing of `in` would be read: its end is before its beginning" in printed.stderr


def test_files_alone_have_no_times(tmp_path):
    apps.write_stream(tmp_path, "numbers", "k", ["1", "2", "2"])
    (tmp_path / "app.yaml").write_text(json.dumps(apps.counting_document()))
    result = replay(tmp_path, "--from", "2026-01-01T00:00:00Z")
    assert "app reads no stream of Kafka or a log, so nothing it reads has times" in result.stderr
    assert replay(tmp_path, "--run-id", "r2").exit_code == 0
    assert apps.last_per_key(tmp_path / "out" / "counts-r2", 1) == {("1",): ("1", "1"), ("2",): ("2", "2")}


def test_what_grows_without_an_end_is_followed_or_not_replayed(tmp_path):
    document = apps.counting_document()
    document["spec"]["systems"]["land"] = {"folder": {"path": "."}}
    document["spec"]["streams"]["numbers"]["system"] = "land"
    apps.write_stream(tmp_path, "numbers", "k", ["1"])
    (tmp_path / "app.yaml").write_text(json.dumps(document))
    result = replay(tmp_path)
    assert result.exit_code == 1
    assert "numbers of app has no end: replay it with --follow" in result.stderr
