import json

import lmdb
import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_runtime.state.folder_lock import FolderLock
from support import apps


@pytest.fixture
def folder(tmp_path):
    """An app that counts by key, run to its end."""
    document = apps.counting_document()
    apps.write_stream(tmp_path, "numbers", "k", ["1", "2", "2"])
    (tmp_path / "app.yaml").write_text(json.dumps(document))
    apps.run(document, tmp_path)
    return tmp_path


def verify(folder, *options):
    return CliRunner().invoke(app, ["verify", str(folder / "app.yaml"), *options])


def test_the_state_of_a_run_is_what_its_changelog_says(folder):
    result = verify(folder)
    assert result.exit_code == 0, result.output
    assert "the state is right" in result.stdout
    assert "Partition 1" in result.stdout
    (counted,) = [line.split() for line in result.stdout.splitlines() if line.split()[:1] == ["counted"]]
    assert counted[1] == "2"
    assert int(counted[2].replace(",", "")) > 0


def test_an_entry_that_differs_is_named(folder):
    for state in (folder / ".streamapp" / "app" / "state" / "r1").glob("Partition*"):
        with lmdb.open(str(state), max_dbs=8, lock=False) as environment:
            database = environment.open_db(b"counted")
            with environment.begin(write=True, db=database) as transaction:
                transaction.put(b"key", b"value")
    result = verify(folder)
    assert result.exit_code == 1
    assert "store counted, key 'key': 'value', of which the changelog knows nothing" in result.stdout
    assert "2 of 2 tasks differ" in result.stdout


def test_a_running_app_is_not_verified(folder):
    lock = FolderLock(folder / ".streamapp" / "app", wait_seconds=0, clock=lambda: 0.0, sleep=lambda _: None)
    result = verify(folder)
    lock.close()
    assert result.exit_code == 1
    assert "app is running: stop it, then verify it" in result.stderr


def test_without_a_run_there_is_nothing_to_verify(folder):
    result = verify(folder, "--state-dir", str(folder / "elsewhere"))
    assert result.exit_code == 1
    assert "no run of app here" in result.stderr
    assert not (folder / "elsewhere").exists()
