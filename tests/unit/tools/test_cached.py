from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from tools.cluster.cached import kept, key_of


def test_what_is_kept_is_made_once_however_many_ask_for_it(tmp_path):
    made, together = [], Barrier(4)

    def make(work):
        made.append(work)
        (work / "product").write_text("costly")

    def ask(_):
        together.wait()
        return kept(tmp_path, "product-1", make, what="making it")

    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(ask, range(4)))
    assert folders == {tmp_path / "product-1"}
    assert (tmp_path / "product-1" / "product").read_text() == "costly"
    assert len(made) == 1


def test_what_was_not_finished_is_made_again_from_nothing(tmp_path):
    def fail(work):
        (work / "half").touch()
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        kept(tmp_path, "product-1", fail, what="making it")
    assert not (tmp_path / "product-1").exists()
    folder = kept(tmp_path, "product-1", lambda work: (work / "whole").touch(), what="making it")
    assert [path.name for path in folder.iterdir()] == ["whole"]


def test_a_key_changes_with_every_text_and_with_the_name_and_content_of_every_file(tmp_path):
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_text("x")
    other.write_text("x")
    keys = {key_of("x"), key_of("y"), key_of("x", ""), key_of("", "x"), key_of(one), key_of(other), key_of(one, other)}
    one.write_text("z")
    assert len(keys | {key_of(one)}) == 8


def test_a_key_does_not_depend_on_the_order_in_which_a_folder_lists_its_files(tmp_path):
    files = [tmp_path / name for name in "abc"]
    for file in files:
        file.write_text(file.name)
    assert key_of(files) == key_of(reversed(files))
