"""A disk that is full or may not be written to ends a run in one clear line; mended, the run goes on to the end."""

import json
import re
import signal

import pytest

from streamapp_runtime.fail_points import VARIABLE
from support import crashes, shop
from support.disks import SmallDisk, read_only

PLACES = {"state": 260, "log": 2_500, "out": 500}
"""What lies where, and a room in kilobytes that is too small for it."""


@pytest.fixture
def app(tmp_path):
    """Lay the app out so that its state, its log and its results have a folder each, and give a function to run it."""
    document = shop.lay_out(tmp_path, 40_000)
    document["spec"]["systems"]["log"]["log"]["path"] = "log/log.db"
    (tmp_path / "app.yaml").write_text(json.dumps(document))

    def run(through=(), **environment):
        options = ("--host", "in-process", "--state-dir", str(tmp_path / "state"))
        return crashes.end(crashes.start(tmp_path, *options, through=through, **environment))

    return run


def check_refusal(code, output, told):
    """The run ended with a line that says where and why, and without a trace."""
    assert code == 1, output
    assert "Traceback" not in output
    assert re.search(f"error: app: .*{told}", output), output


@pytest.mark.parametrize("place", PLACES)
def test_a_run_on_a_full_disk_says_so_and_goes_on_when_there_is_room(tmp_path, app, place):
    disk = SmallDisk(tmp_path / place, PLACES[place])
    try:
        for _ in range(2):
            check_refusal(*app(disk.through), disk.told)
        disk.grow()
        code, output = app()
        assert code == 0, output
        shop.check(tmp_path)
    finally:
        disk.close()


@pytest.mark.parametrize("place", PLACES)
def test_a_run_in_a_read_only_folder_says_so_and_goes_on_when_it_may_write(tmp_path, app, place):
    died, output = app(**{VARIABLE: "commit-5:before:3"})
    assert died == -signal.SIGKILL, output
    with read_only(tmp_path / place) as (through, told):
        check_refusal(*app(through), told)
    code, output = app()
    assert code == 0, output
    shop.check(tmp_path)
