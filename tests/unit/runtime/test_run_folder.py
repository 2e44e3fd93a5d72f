import threading

import pytest

from streamapp_runtime.driver.run_folder import RunFolder
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.state.folder_lock import FolderLock
from streamapp_systems.clock import system_clock


def lock(folder):
    return FolderLock(folder, wait_seconds=0, clock=lambda: 0.0, sleep=lambda _: None)


def test_a_folder_has_one_driver(tmp_path):
    with RunFolder(tmp_path / "app", system_clock()), pytest.raises(RuntimeFailure, match="is in use"):
        RunFolder(tmp_path / "app", system_clock())
    with RunFolder(tmp_path / "app", system_clock()) as folder:
        assert folder.path.is_dir()


def test_state_of_other_runs_goes_and_that_of_this_one_stays(tmp_path):
    with RunFolder(tmp_path, system_clock()) as folder:
        for run in ("old", "new"):
            (folder.state(run) / "Partition-0").mkdir(parents=True)
        folder.delete_other_states("new")
        assert [path.name for path in (tmp_path / "state").iterdir()] == ["new"]


def test_state_is_removed_only_when_its_worker_has_ended(tmp_path):
    with RunFolder(tmp_path, system_clock()) as folder:
        worker = lock(folder.state("old") / "Partition-0")
        seen = []

        def end():
            seen.append(folder.state("old").exists())
            worker.close()

        threading.Timer(0.2, end).start()
        folder.delete_other_states("new")
        assert seen == [True]
        assert not folder.state("old").exists()
