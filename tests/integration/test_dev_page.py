"""The page of `streamapp dev` in a real browser."""

import os
import re
import shutil
import subprocess

import msgspec
import pytest

from support.dev_pages import PLAN, SUMMARY, dev_page
from support.plan_documents import accepted, document

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MILLISECONDS = 4_000
"""Time of the page that passes before it is read: the browser makes it pass at once."""

pytestmark = pytest.mark.skipif(BROWSER is None and "CI" not in os.environ, reason="no Chromium: install chromium")


def shown(page, folder, fragment=""):
    with page.serve(0) as server:
        command = [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}",
            f"--virtual-time-budget={MILLISECONDS}",
            "--dump-dom",
            f"http://127.0.0.1:{server.port}/{fragment}",
        ]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


def test_a_browser_draws_the_plan_with_what_runs_in_it(tmp_path):
    page = dev_page()
    page.show_plan(PLAN, PLAN)
    page.show(message="runs")
    page.show_progress(SUMMARY)
    found = shown(page, tmp_path)
    assert "<title>app</title>" in found
    assert found.count("<rect") == 4
    assert found.count("<path") == 3
    for text in (
        "1,234 read",
        "2,345 offsets behind",
        "held back by partition 2",
        "17 written",
        "waits for in",
        "in: 3 rows not used",
    ):
        assert text in found
    assert "&lt;/script&gt;&lt;b&gt;no JSON&lt;/b&gt;" in found


def test_a_browser_shows_the_rows_of_a_stream_that_its_address_names(tmp_path):
    page = dev_page()
    page.show_plan(PLAN, PLAN)
    found = shown(page, tmp_path, "#in")
    assert "<th>offset</th>" in found
    assert "<td>&lt;b&gt;bold&lt;/b&gt;</td>" in found


def test_a_browser_shows_the_rows_of_an_operator_of_a_sample(tmp_path):
    rows = [{"partition": 0, "offset": 0, "row": {"k": "a", "v": 6}}]
    page = dev_page(lambda _, stream: rows if stream == "large--rows" else [])
    page.show_plan(PLAN, PLAN, sampled=True)
    page.show_progress(msgspec.structs.replace(SUMMARY, written={"large--rows": 18}))
    found = shown(page, tmp_path, "#large")
    assert "18 rows, 9 rows/s" in found
    assert "<td>6</td>" in found
    assert len(re.findall(r'class="[a-z]+ hasRows', found)) == 3


def test_an_edge_that_passes_nodes_goes_beside_them(tmp_path):
    page = dev_page()
    operators = [
        {"name": "one", "from": "in", "partitionBy": {"key": "k"}},
        {"name": "named", "from": "in", "map": "k as l, v as w"},
        {"name": "other", "from": "named", "partitionBy": {"key": "l"}},
        {"name": "pairs", "from": "one", "join": {"with": "other", "on": {"left": "k", "right": "l"}}},
        {"name": "o", "from": "pairs", "sendTo": "out"},
    ]
    plan = accepted(document(operators, streams={"in": "k string, v int", "out": {}}))
    page.show_plan(plan, plan)
    found = shown(page, tmp_path)
    nodes = [(int(x), int(y)) for x, y in re.findall(r'<g [^>]*transform="translate\((\d+),(\d+)\)"', found)]
    lines = [tuple(map(float, line)) for line in re.findall(r'd="M([\d.]+),([\d.]+) H([\d.]+) ', found)]
    assert (len(nodes), len(lines)) == (7, 7)
    assert any(end > start for start, _, end in lines)
    (width,), (height,) = (
        set(map(int, re.findall(rf'<rect [^>]*{side}="(\d+)"', found))) for side in ("width", "height")
    )
    assert not [
        (node, line)
        for node in nodes
        for line in lines
        if line[0] < node[0] + width and node[0] < line[2] and node[1] < line[1] < node[1] + height
    ]
