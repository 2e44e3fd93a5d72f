"""The file of an embedded log: what is in its place instead, and many who make it."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from streamapp_systems.log import LogAdmin
from streamapp_systems.protocols import StreamSystemError
from support.logs import FIRST, create, values


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no database, but long enough to be looked at" * 100)
    with pytest.raises(StreamSystemError, match=r"notes\.txt: .*correct the system's path"):
        LogAdmin(tmp_path / "notes.txt")


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (a)")
    other.close()
    with pytest.raises(StreamSystemError, match=r"other\.db is a database of another program"):
        LogAdmin(tmp_path / "other.db")


def test_a_log_of_a_newer_release_is_refused(path: Path) -> None:
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 3")
    newer.close()
    with pytest.raises(StreamSystemError, match=r"written by a newer release \(version 3, not 2\)"):
        LogAdmin(path)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StreamSystemError, match=r"SQLITE_CANTOPEN.*Check that the path is a file"):
        LogAdmin(tmp_path)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(StreamSystemError, match="its folder can't be made"):
        create(tmp_path / "state" / "log.db")


def test_a_log_may_be_made_by_many_at_once(tmp_path: Path) -> None:
    def make(_number: int) -> None:
        create(tmp_path / "log.db")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make, range(16)))
    assert values(tmp_path / "log.db", FIRST) == []
