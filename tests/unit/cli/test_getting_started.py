"""The page for newcomers works as written."""

import json
import re
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_core.spec.json_schema import app_json_schema
from support import apps

PAGE = (Path(__file__).parents[3] / "docs" / "getting-started.md").read_text()


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_page_works_as_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["bash", "-euc", block("bash")], check=True)
    Path("shop/app.yaml").write_text(block("yaml"))
    plan = CliRunner().invoke(app, ["plan", "shop/app.yaml"])
    assert plan.exit_code == 0, plan.output
    run = CliRunner().invoke(app, ["run", "shop/app.yaml", "--host", "in-process"])
    assert run.exit_code == 0, run.output
    header, *results = block("text").splitlines()
    assert apps.parts(Path("shop/sales"))[0].read_text().splitlines()[0] == header
    assert sorted(",".join(row) for row in apps.rows(Path("shop/sales"))) == results


def test_the_records_of_a_stream_are_printed_as_the_page_shows_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["bash", "-euc", block("bash")], check=True)
    Path("shop/app.yaml").write_text(block("yaml"))
    peek = CliRunner().invoke(app, ["peek", "shop/app.yaml", "orders", "--rows", "1"])
    assert peek.exit_code == 0, peek.output
    assert peek.output == block("json")


def test_a_first_version_is_written_as_the_page_shows_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["bash", "-euc", block("bash")], check=True)
    (command, written) = re.search(r"```bash\nstreamapp (init .*)\n```\n\n```yaml\n(.*?)```", PAGE, re.DOTALL).groups()
    made = CliRunner().invoke(app, command.split())
    assert made.exit_code == 0, made.output
    assert written in Path("shop/first.yaml").read_text()


def test_what_editors_read_is_beside_the_app(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("shop").mkdir()
    Path("shop/app.yaml").write_text(block("yaml"))
    (commands,) = (text for text in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) if "streamapp schema" in text)
    installed = str(Path(sys.executable).with_name("streamapp"))
    subprocess.run(["bash", "-euc", commands.replace("streamapp schema >", f"{installed} schema >")], check=True)
    first, _, rest = Path("shop/app.yaml").read_text().partition("\n")
    schema = Path("shop", re.fullmatch(r"# yaml-language-server: \$schema=(.*)", first)[1])
    assert json.loads(schema.read_text()) == app_json_schema()
    assert rest == block("yaml")


def test_without_its_partition_by_the_plan_says_what_is_missing(tmp_path):
    text = block("yaml").replace("    - {name: by-item, from: orders, partitionBy: {key: item}}\n", "")
    (tmp_path / "app.yaml").write_text(text.replace("from: by-item", "from: orders"))
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "1.csv").write_text("id,customer,item,amount,at\n")
    plan = CliRunner().invoke(app, ["plan", str(tmp_path / "app.yaml")])
    assert plan.exit_code == 1
    assert "GroupKeyMismatch" in plan.stdout
    assert "partitionBy" in plan.stdout
