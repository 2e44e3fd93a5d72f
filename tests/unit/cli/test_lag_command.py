"""The lag of an app: what its last commits have not read yet."""

import copy
import json
import shutil

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from support import apps

DOCUMENT = apps.counting_document()


@pytest.fixture
def folder(tmp_path):
    apps.write_stream(tmp_path, "numbers", "k", ["1", "2", "2"], ["3"])
    (tmp_path / "app.yaml").write_text(json.dumps(DOCUMENT))
    return tmp_path


def lag(folder, *options):
    return CliRunner().invoke(app, ["lag", str(folder / "app.yaml"), *options])


def test_a_run_that_goes_on_is_asked_and_a_completed_one_is_not_behind_until_there_is_more(folder):
    meanwhile = []

    def ask(_):
        if not meanwhile:
            meanwhile.append(lag(folder, "--output", "json"))

    apps.run(DOCUMENT, folder, listener=ask)
    assert meanwhile[0].exit_code == 0, meanwhile[0].output
    assert "numbers" in meanwhile[0].stdout
    result = lag(folder)
    assert result.exit_code == 0, result.output
    assert "app: 0 offsets behind" in result.stdout
    shutil.rmtree(folder / ".streamapp")  # as where another machine runs it
    with (folder / "numbers" / "0.csv").open("a") as file:
        file.write("7\n8\n")
    by_k, *_, first, second = (json.loads(line) for line in lag(folder, "--output", "json").stdout.splitlines())
    assert first == {"stream": "numbers", "partition": 0, "position": 3, "end": 5, "behind": 2}
    assert second == {"stream": "numbers", "partition": 1, "position": 1, "end": 1, "behind": 0}
    assert (by_k["stream"], by_k["position"], by_k["behind"]) == ("by-k", by_k["end"], 0)


def test_what_has_committed_nothing_has_all_before_it(folder):
    (folder / "numbers" / "1.csv").write_text("k\nno number\n")
    with pytest.raises(Exception, match="no int"):
        apps.run(DOCUMENT | {"spec": DOCUMENT["spec"] | {"job": {"commitInterval": "5m"}}}, folder)
    *_, line = lag(folder, "--output", "json").stdout.splitlines()
    assert json.loads(line) == {"stream": "numbers", "partition": 1, "position": None, "end": 1, "behind": 1}


def test_a_table_that_each_start_fills_is_not_behind(folder):
    apps.write_stream(folder, "names", "k,name", ["1,one", "2,two"])
    document = copy.deepcopy(DOCUMENT)
    spec = document["spec"]
    names = {"schema": "k int, name string", "key": "k", "broadcast": True, "system": "files", "format": "csv"}
    spec["streams"]["names"] = names
    spec["tables"] = {"known": {"key": "k", "sideInputs": ["names"]}}
    spec["operators"][1] = {"name": "counted", "from": "by-k", "joinTable": {"table": "known", "on": "k"}}
    (folder / "app.yaml").write_text(json.dumps(document))
    apps.run(document, folder)
    result = lag(folder)
    assert "app: 0 offsets behind" in result.stdout
    assert "names" not in result.stdout


def test_without_a_run_there_is_no_lag(folder):
    result = lag(folder)
    assert result.exit_code == 1
    assert "app: there is no run: system log has no job model" in result.stderr
    (folder / "app.yaml").write_text(json.dumps(DOCUMENT).replace("defaultSystem", "defaultSystm"))
    assert "app is refused" in lag(folder).stdout
