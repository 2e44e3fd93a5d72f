import io
import json
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_cli.run_printer import JsonPrinter
from streamapp_runtime.driver.run_record import Summary
from streamapp_systems.clock import system_clock
from support import apps
from support.waiting import eventually

STREAMAPP = str(Path(sys.executable).with_name("streamapp"))


def run(folder, document, *options):
    (folder / "app.yaml").write_text(json.dumps(document))
    return CliRunner().invoke(app, ["run", str(folder / "app.yaml"), "--host", "in-process", *options])


def flights(folder, rows="AA,20\nUA,3\n"):
    (folder / "flights").mkdir()
    (folder / "flights" / "1.csv").write_text("carrier,delay\n" + rows)


def test_a_bounded_app_ends_by_itself_with_a_summary(tmp_path):
    flights(tmp_path)
    result = run(tmp_path, apps.stateless("file"))
    assert result.exit_code == 0, result.output
    assert "2 of 2" in result.stdout
    assert "completed" in result.stdout
    assert apps.rows(tmp_path / "out") == [("AA", "20")]


def test_a_completed_run_prints_its_summary_again_and_does_nothing(tmp_path):
    flights(tmp_path)
    run(tmp_path, apps.stateless("file"))
    before = apps.parts(tmp_path / "out")
    result = run(tmp_path, apps.stateless("file"))
    assert result.exit_code == 0
    assert "2 of 2" in result.stdout
    assert apps.parts(tmp_path / "out") == before


def test_a_completed_run_says_that_its_files_have_changed_since(tmp_path):
    flights(tmp_path)
    run(tmp_path, apps.stateless("file"))
    assert "nothing was run" not in run(tmp_path, apps.stateless("file")).stdout
    (tmp_path / "flights" / "1.csv").write_text("carrier,delay\nAA,21\n")
    (tmp_path / "flights" / "2.csv").write_text("carrier,delay\nDL,50\n")
    result = run(tmp_path, apps.stateless("file"))
    assert result.exit_code == 0
    assert "nothing was run: this is the summary of run " in result.stdout
    assert (
        "its inputs have changed since it read them: flights (flights/1.csv, flights/2.csv). "
        "--fresh runs the app again, from the beginning" in result.stdout
    )
    quiet = run(tmp_path, apps.stateless("file"), "--quiet")
    assert (quiet.exit_code, quiet.stdout) == (0, "")
    assert "nothing was run" in quiet.stderr
    shutil.rmtree(tmp_path / "flights")
    assert "flights/1.csv" in run(tmp_path, apps.stateless("file")).stdout


def test_a_completed_run_says_that_its_code_has_changed_since(tmp_path):
    document = apps.with_function(tmp_path, "def f(rows):\n    return rows.slice(0, 1)\n")
    assert run(tmp_path, document).exit_code == 0
    assert "nothing was run" not in run(tmp_path, document).stdout
    (tmp_path / "mine.py").write_text("def f(rows):\n    return rows\n")
    (tmp_path / "helper.py").write_text("")
    assert "the code of its functions has changed since: helper.py, mine.py. --fresh" in run(tmp_path, document).stdout


def test_mistakes_are_told_before_a_broker_that_does_not_answer(tmp_path):
    document = apps.stateless("kafka")
    document["spec"]["operators"][0]["from"] = "flihgts"
    result = run(tmp_path, document)
    assert result.exit_code == 1
    assert "did you mean `flights`?" in result.stdout
    assert "can't be described" in result.stderr


WAITS = """
import pathlib, time

def f(rows):
    while not pathlib.Path({!r}).exists():
        time.sleep(0.01)
    return rows
"""


def test_metrics_and_status_of_a_run_are_on_a_port(tmp_path):
    document = apps.with_function(tmp_path, WAITS.format(str(tmp_path / "go")))
    (tmp_path / "app.yaml").write_text(json.dumps(document))
    command = [STREAMAPP, "run", str(tmp_path / "app.yaml"), "--host", "in-process", "--output", "json"]
    with subprocess.Popen([*command, "--http-port", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            serving = json.loads(process.stdout.readline())
            assert serving["event"] == "serving"

            def get(page):
                with urllib.request.urlopen(serving["address"] + page, timeout=60) as answer:
                    return answer.read().decode()

            read = 'streamapp_rows_read_total{app="app",namespace="default",stream="flights"} '
            eventually(lambda: read in get("/metrics"))
            status = json.loads(get("/status"))
            assert {stream["name"] for stream in status["streams"]} >= {"flights"}
        finally:
            (tmp_path / "go").touch()
        assert json.loads(process.stdout.read().splitlines()[-1])["event"] == "completed"


def test_a_port_that_is_taken_is_told(tmp_path):
    flights(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run(tmp_path, apps.stateless("file"), "--http-port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "Name another port, or 0 for a free one" in result.stderr


def test_fresh_starts_a_new_run_and_replaces_the_results(tmp_path):
    flights(tmp_path)
    run(tmp_path, apps.stateless("file"))
    (tmp_path / "flights" / "2.csv").write_text("carrier,delay\nDL,50\n")
    result = run(tmp_path, apps.stateless("file"), "--fresh")
    assert result.exit_code == 0
    assert sorted(apps.rows(tmp_path / "out")) == [("AA", "20"), ("DL", "50")]


def to_a_log():
    document = apps.stateless("file")
    document["spec"]["streams"]["out"] = {"system": "log"}
    return document


def test_fresh_says_what_it_deletes_and_what_stays(tmp_path):
    flights(tmp_path)
    first = run(tmp_path, apps.stateless("file"), "--fresh")
    assert "deletes" not in first.stdout
    again = run(tmp_path, apps.stateless("file"), "--fresh")
    assert "app: the new run deletes\n  state of an earlier run: " in again.stdout
    assert f"  results: 1 part file in {tmp_path / 'out'}\n" in again.stdout
    assert "these stay" not in again.stdout


def test_outputs_in_a_log_stay_unless_they_are_to_be_deleted(tmp_path):
    flights(tmp_path)
    run(tmp_path, to_a_log())
    stay = (
        "app: these stay, and new results follow them (--fresh --delete-outputs deletes their records, not those of "
        "tables)\n"
    )
    kept = run(tmp_path, to_a_log(), "--fresh")
    assert f"{stay}  output out: 1 record of out in log\n" in kept.stdout
    deleted = run(tmp_path, to_a_log(), "--fresh", "--delete-outputs")
    assert "  results: output out: 2 records of out in log\n" in deleted.stdout
    assert stay not in deleted.stdout
    assert "output out: 1 record" in run(tmp_path, to_a_log(), "--fresh").stdout


def test_a_run_that_continues_deletes_no_outputs(tmp_path):
    flights(tmp_path)
    result = run(tmp_path, to_a_log(), "--delete-outputs")
    assert result.exit_code == 2
    assert "--delete-outputs goes with --fresh" in result.stderr
    assert not (tmp_path / ".streamapp").exists()


def test_a_cluster_of_spark_goes_with_spark_alone(tmp_path):
    result = run(tmp_path, apps.stateless("file"), "--master", "spark://a:7077")
    assert result.exit_code == 2
    assert "--host in-process is none" in result.stderr


def test_a_refused_app_starts_nothing(tmp_path):
    flights(tmp_path)
    document = apps.stateless("file")
    document["spec"]["operators"][0]["filter"] = "dely > 15"
    result = run(tmp_path, document)
    assert result.exit_code == 1
    assert "spec.operators[0].filter" in result.stdout
    assert not (tmp_path / "out").exists()


def test_a_bad_row_is_named_with_its_place(tmp_path):
    flights(tmp_path, "AA,20\nUA,many\n")
    result = run(tmp_path, apps.stateless("file"))
    assert result.exit_code == 1
    assert "files.flights[0], offset 1" in result.stderr
    assert "'many' is no double" in result.stderr


def test_a_run_that_failed_goes_on_when_its_cause_is_mended(tmp_path):
    flights(tmp_path, "UA,many\n")
    assert run(tmp_path, apps.stateless("file")).exit_code == 1
    assert run(tmp_path, apps.stateless("file")).exit_code == 1
    (tmp_path / "flights" / "1.csv").write_text("carrier,delay\nUA,99\n")
    result = run(tmp_path, apps.stateless("file"))
    assert result.exit_code == 0
    assert apps.rows(tmp_path / "out") == [("UA", "99")]


def test_another_app_under_an_unfinished_run_is_refused(tmp_path):
    flights(tmp_path, "UA,many\n")
    run(tmp_path, apps.stateless("file"))
    document = apps.stateless("file")
    document["spec"]["operators"][0]["filter"] = "delay > 30"
    result = run(tmp_path, document)
    assert result.exit_code == 1
    assert "not the one that run" in result.stderr
    assert "--fresh" in result.stderr


def test_files_that_came_or_went_under_an_unfinished_run_are_refused(tmp_path):
    flights(tmp_path, "UA,many\n")
    run(tmp_path, apps.stateless("file"))
    (tmp_path / "flights" / "0.csv").write_text("carrier,delay\nUA,99\n")
    result = run(tmp_path, apps.stateless("file"))
    assert result.exit_code == 1
    assert "stream flights: the files are not those" in result.stderr
    assert "flights/0.csv" in result.stderr


def test_a_completed_run_is_not_the_answer_for_another_app(tmp_path):
    flights(tmp_path)
    run(tmp_path, apps.stateless("file"))
    document = apps.stateless("file")
    document["spec"]["operators"][0]["filter"] = "delay > 1"
    result = run(tmp_path, document)
    assert result.exit_code == 1
    assert "has completed, and the app has changed since" in result.stderr


def test_bad_rows_are_skipped_and_told_where_the_app_says_so(tmp_path):
    flights(tmp_path, "AA,20\nUA,many\nDL,30\nWN,x\n")
    document = apps.stateless("file")
    document["spec"]["job"] = {"onError": "skip"}
    result = run(tmp_path, document)
    assert result.exit_code == 0, result.output
    assert "flights: 2 rows not used (unreadable)" in result.stdout
    assert "files.flights[0], offset 1" in result.stdout
    assert "files.flights[0], offset 3" in result.stdout
    assert sorted(apps.rows(tmp_path / "out")) == [("AA", "20"), ("DL", "30")]


def test_what_this_release_lacks_is_listed_with_its_place(tmp_path):
    flights(tmp_path)
    document = apps.stateless("file")
    document["spec"]["streams"]["between"] = {"system": "log", "controlMessages": True, "partitions": 1}
    document["spec"]["operators"].append({"name": "shared", "from": "flights", "sendTo": "between"})
    result = run(tmp_path, document)
    assert result.exit_code == 1
    assert "spec.streams.between.controlMessages  NotSupported" in result.stdout


def test_results_of_others_are_never_overwritten(tmp_path):
    flights(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious.txt").write_text("mine")
    result = run(tmp_path, apps.stateless("file"), "--fresh")
    assert result.exit_code == 1
    assert "not StreamApp's" in result.stderr
    assert (tmp_path / "out" / "precious.txt").read_text() == "mine"


def test_another_process_on_the_same_app_is_refused(tmp_path):
    from streamapp_runtime.driver.run_folder import RunFolder

    flights(tmp_path)
    with RunFolder(tmp_path / ".streamapp" / "app", system_clock()):
        result = run(tmp_path, apps.stateless("file"))
    assert result.exit_code == 1
    assert "running twice" in result.stderr


def events(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_json_lines_say_what_happened(tmp_path):
    flights(tmp_path)
    document = apps.stateless("file")
    *_, completed = events(run(tmp_path, document, "--output", "json"))  # after progress, on a busy machine
    assert (completed["event"], completed["app"]) == ("completed", document["metadata"]["name"])
    (stream,) = completed["streams"]
    assert (stream["name"], stream["read"], stream["total"], stream["heldBack"]) == ("flights", 2, 2, None)
    assert completed["incidentCount"] == 0
    fresh, *_, again = events(run(tmp_path, document, "--output", "json", "--fresh"))
    assert fresh["event"] == "freshStart"
    assert any("part file" in line for line in fresh["deletes"])
    assert again["event"] == "completed"


def test_json_lines_say_why_a_run_was_refused_or_has_failed(tmp_path):
    flights(tmp_path)
    document = apps.stateless("file")
    document["spec"]["operators"][0]["filter"] = "no_such_column > 1"
    result = run(tmp_path, document, "--output", "json")
    assert result.exit_code == 1
    (refused,) = events(result)
    assert refused["event"] == "refused"
    assert refused["problems"][0]["path"] == "spec.operators[0].filter"
    (tmp_path / "flights" / "1.csv").write_text("carrier,delay\nAA,x\n")
    result = run(tmp_path, apps.stateless("file"), "--output", "json")
    assert result.exit_code == 1
    assert events(result)[-1]["event"] == "failed"
    assert "[/" not in result.stderr
    assert result.stderr.startswith("error: ")


def test_progress_comes_as_json_every_two_seconds_unless_it_is_not_wanted():
    summary = Summary(
        streams=(), written={"kept_rows": 7}, not_used={}, bad_rows=("[/red]",), seconds=2.5, held_back_by={}
    )
    for quiet, expected in ((False, 2), (True, 0)):
        file = io.StringIO()
        printer = JsonPrinter("shop", quiet=quiet, file=file, clock=iter([0, 1, 2, 3, 4, 5]).__next__)
        with printer.follow() as listener:
            for _ in range(5):
                listener(summary)
        lines = [json.loads(line) for line in file.getvalue().splitlines()]
        assert len(lines) == expected
        for line in lines:
            assert (line["event"], line["written"], line["badRows"]) == ("progress", {"kept_rows": 7}, ["[/red]"])


def test_a_quiet_run_prints_nothing_but_what_is_wrong(tmp_path):
    flights(tmp_path)
    result = run(tmp_path, apps.stateless("file"), "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    document = apps.stateless("file")
    document["spec"]["operators"][0]["filter"] = "no_such_column > 1"
    assert "no_such_column" in run(tmp_path, document, "-q", "--fresh").stdout


def test_the_version_is_printed():
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("streamapp 0.")


def test_shells_complete_commands():
    env = {"_STREAMAPP_COMPLETE": "complete_bash", "COMP_WORDS": "streamapp ve", "COMP_CWORD": "1"}
    assert CliRunner().invoke(app, [], env=env, prog_name="streamapp").stdout.split() == ["verify"]
