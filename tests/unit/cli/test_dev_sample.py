"""Samples of an app at each save: rows of each operator, and nothing is written outside of the sample's folder."""

import json

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app as streamapp
from support import apps
from support.dev_samples import blocks, play, sample
from support.growth import Growing
from support.replays import write_hours


@pytest.fixture
def source(tmp_path):
    return Growing(tmp_path, {"log": {"path": "log.db"}})


@pytest.fixture
def printed(capsys):
    return lambda: capsys.readouterr().out


def test_a_sample_shows_what_operators_make_of_the_last_records(source, printed):
    play(source, printed)
    assert sorted(path.name for path in (source.folder / ".streamapp").iterdir()) == ["app-sample"]


def test_each_save_is_sampled_anew_from_the_same_time_on(source, printed):
    write_hours(source)
    operators = [
        {"name": "small", "from": "in", "filter": "k < 2"},
        {"name": "sent", "from": "small", "sendTo": "out"},
    ]
    saves = [source.document(), source.document(operators=operators)]
    sample(source.folder, saves[1:])
    sample(source.folder, [*saves, saves[1]])
    found = blocks(printed())
    assert [row["n"] for row in found["small"]] == [row["n"] for row in found["out"]] == [2, 2]


def test_all_of_files_and_tables_is_read_and_final_outputs_are_changes(tmp_path, printed):
    apps.write_stream(tmp_path, "flights", "carrier,delay", ["AA,20", "UA,3", "AA,1"])
    document = apps.stateless("file")
    streams = document["spec"]["streams"]
    streams["delays"] = {"system": streams["out"]["system"], "format": "csv", "changes": "final", "key": "carrier"}
    document["spec"]["operators"] = [
        {"name": "by", "from": "flights", "partitionBy": {"key": "carrier"}},
        {"name": "sum", "from": "by", "aggregate": {"by": ["carrier"], "select": "sum(delay) as delay"}},
        {"name": "sent", "from": "sum", "sendTo": "delays"},
        {"name": "other", "from": "flights", "sendTo": "out"},
    ]
    sample(tmp_path, [document], length=None)
    rows = {row["carrier"]: row["delay"] for row in blocks(printed())["delays"]}
    assert rows == {"AA": 21, "UA": 3}
    assert not (tmp_path / "delays").exists()
    assert not (tmp_path / "out").exists()


def test_inputs_without_records_are_told(source, printed):
    sample(source.folder, [source.document()])
    assert "in: no record came in the last 90m before this was started, or since" in printed()


@pytest.mark.parametrize(
    "options, why",
    [
        (["--sample", "ten"], "--sample: 'ten' is no duration; write a number and a unit: 50ms, 10s, 5m, 1h or 1d"),
        (["--sample", "1h", "--fresh"], "--sample: each run of a sample is a new one; leave out --fresh"),
    ],
)
def test_options_of_a_sample_that_are_wrong_are_told(tmp_path, options, why):
    file = tmp_path / "app.yaml"
    file.write_text(json.dumps(apps.stateless("file")))
    result = CliRunner().invoke(streamapp, ["dev", str(file), *options])
    assert result.exit_code == 2
    assert why in result.stderr
