"""Edits that are allowed while a run on this machine has not ended."""

import json

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from support import apps


def run(folder, document):
    (folder / "app.yaml").write_text(json.dumps(document))
    return CliRunner().invoke(app, ["run", str(folder / "app.yaml"), "--host", "in-process"])


@pytest.fixture
def stuck(tmp_path):
    """A run that ends at a record that can't be read."""
    (tmp_path / "flights").mkdir()
    (tmp_path / "flights" / "1.csv").write_text("carrier,delay\nAA,20\nUA,many\nDL,30\n")
    result = run(tmp_path, apps.stateless("file"))
    assert result.exit_code == 1
    assert "files.flights[0], offset 1: " in result.stderr
    advice = "Correct the record or spec.streams.flights.schema, or set spec.job.onError to skip"
    assert f"'many' is no double. {advice}" in result.stderr
    return tmp_path


def test_a_run_goes_on_with_edited_settings_and_leaves_the_bad_record_out(stuck):
    document = apps.stateless("file")
    document["spec"]["job"] = {"onError": "skip", "commitInterval": "20ms"}
    document["spec"]["spark"] = {"conf": {"spark.log.level": "INFO"}}
    result = run(stuck, document)
    assert result.exit_code == 0, result.output
    assert "1 row not used (unreadable)" in result.stdout
    assert sorted(apps.rows(stuck / "out")) == [("AA", "20"), ("DL", "30")]
    assert run(stuck, document).exit_code == 0


@pytest.mark.parametrize(
    "field, edit",
    {
        "spec.job.intermediateStreamPartitions": lambda spec: spec.update(job={"intermediateStreamPartitions": 3}),
        "spec.systems.files.file.path": lambda spec: spec["systems"]["files"]["file"].update(path="elsewhere"),
        "spec.processors.count": lambda spec: spec.update(processors={"count": 2}),
        "spec.streams.flights.schema": lambda spec: spec["streams"]["flights"].update(schema="carrier string"),
    }.items(),
)
def test_an_edit_that_a_run_can_not_go_on_with_is_named(stuck, field, edit):
    document = apps.stateless("file")
    edit(document["spec"])
    result = run(stuck, document)
    assert result.exit_code == 1
    assert f"error: app: {field}" in result.stderr
    assert "put the YAML back as it was to continue, or start from the beginning with --fresh" in result.stderr
