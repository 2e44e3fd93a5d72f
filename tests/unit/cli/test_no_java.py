"""A Spark that does not start."""

import json

from support import apps, crashes


def test_where_java_does_not_run_one_line_says_so_and_names_the_log(tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    java.chmod(0o755)
    apps.write_stream(tmp_path, "flights", "carrier,delay", ["AA,20"])
    (tmp_path / "app.yaml").write_text(json.dumps(apps.stateless("file")))
    code, output = crashes.end(crashes.start(tmp_path, JAVA_HOME=str(tmp_path)))
    log = tmp_path / ".streamapp" / "app" / "spark.log"
    assert code == 1
    assert output.startswith("error: app: Spark has not started: ")
    assert output.endswith(f"; see {log}\n")
    assert output.count("\n") == 1
    assert "no such luck" in log.read_text()
