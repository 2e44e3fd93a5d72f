"""Disks of a simulation: what is left of a store after a loss of power."""

from random import Random

from simulation.simulated_disk import Disk

PAGE, PAGES = 4_096, 64


def write(path, number):
    path.write_bytes(bytes([number]) * PAGE * PAGES)


def lose_power(disk, seed=0):
    disk.lose_power(Random(seed), lambda _: True)


def numbers(path):
    """Give which numbers the pages of a file have; each page has one."""
    content = path.read_bytes()
    pages = [set(content[at : at + PAGE]) for at in range(0, len(content), PAGE)]
    assert all(len(page) == 1 for page in pages)
    return set().union(*pages)


def test_pages_that_the_kernel_has_written_by_itself_are_of_several_times(tmp_path):
    store = tmp_path / "data.mdb"
    disk = Disk(tmp_path, Random(1))
    for number in range(1, 60):
        write(store, number)
        disk.write_back(store)
    lose_power(disk, seed=1)
    found = numbers(store)
    assert len(found) > 3
    assert found != {0}


def test_what_was_synced_is_there_or_what_was_written_since(tmp_path):
    store = tmp_path / "data.mdb"
    disk = Disk(tmp_path, Random(1))
    write(store, 1)
    disk.write_back(store)
    write(store, 2)
    disk.note_synced(store)
    write(store, 3)
    lose_power(disk, seed=1)
    assert numbers(store) == {2, 3}


def test_a_new_file_has_nothing_of_the_one_before(tmp_path):
    store = tmp_path / "data.mdb"
    disk = Disk(tmp_path, Random(1))
    write(store, 1)
    disk.note_synced(store)
    disk.write_back(store)
    lose_power(disk)
    store.rename(tmp_path / "old")
    for number in range(2, 20):
        write(store, number)
        disk.write_back(store)
    lose_power(disk, seed=1)
    assert 1 not in numbers(store)
