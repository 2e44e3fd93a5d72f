"""The page about the Nexmark queries: its commands print what it shows, and it has a row for each query."""

import re
import shutil
import subprocess
from pathlib import Path

import yaml

from support.plan_documents import accepted
from unit.docs import pages

ROOT = Path(__file__).parents[3]
QUERIES = ROOT / "examples" / "nexmark" / "queries"


def test_the_commands_print_what_the_page_shows(tmp_path):
    shutil.copytree(
        ROOT / "examples" / "nexmark",
        tmp_path / "examples" / "nexmark",
        ignore=shutil.ignore_patterns("data", "out", ".streamapp"),
    )
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    commands, printed, _ = pages.fences(pages.read("nexmark.md"))
    done = subprocess.run(commands.text, check=False, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == (printed.text, 0), done.stderr


def test_with_the_lines_of_the_page_an_app_reads_a_topic():
    (lines,) = (
        yaml.safe_load(block.text) for block in pages.fences(pages.read("nexmark.md")) if block.language == "yaml"
    )
    app = yaml.safe_load((QUERIES / "q08.yaml").read_text())
    del lines["streams"]["events"]["schema"]
    lines["streams"] = app["spec"]["streams"] | {
        "events": app["spec"]["streams"]["events"] | lines["streams"]["events"]
    }
    app["spec"] |= lines
    plan = accepted(app, {"events": 4})
    assert (plan.streams["events"].partitions, plan.streams["by-person"].system) == (4, "kafka")


def test_each_query_has_a_row():
    text = pages.read("nexmark.md")
    listed = re.findall(r"^\| \[(q\d+)\]\(../examples/nexmark/queries/\1.yaml\) \|", text, re.MULTILINE)
    assert listed == sorted(path.stem for path in QUERIES.glob("q??.yaml"))
    assert [int(name[1:]) for name in listed] == [*range(24)]
