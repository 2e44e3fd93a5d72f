"""Expansion algorithms of other packages are found by their entry points."""

import pytest

from streamapp_core.tasks import MODULO
from streamapp_systems.expansion_algorithms import installed_algorithm

MODULE = """
class LinearHashing:
    def accepts(self, current_count, initial_count):
        return True

    def get_partition_before_expansion(self, current_partition, current_count, initial_count):
        return current_partition % initial_count

ready = LinearHashing()
number = 7
"""
ENTRY_POINTS = """
[streamapp.expansion]
linear = hashing_of_others:LinearHashing
made = hashing_of_others:ready
wrong = hashing_of_others:number
"""


@pytest.fixture
def others(tmp_path, monkeypatch):
    """A package of somebody else's that has expansion algorithms."""
    (tmp_path / "hashing_of_others.py").write_text(MODULE, encoding="utf-8")
    metadata = tmp_path / "hashing_of_others-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hashing-of-others\nVersion: 1.0\n", encoding="utf-8"
    )
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


def test_modulo_is_always_installed():
    assert installed_algorithm("modulo") is MODULO


def test_an_unknown_algorithm_says_which_there_are():
    with pytest.raises(LookupError, match=r"no expansion algorithm 'moduli' is installed \(there are: modulo\)"):
        installed_algorithm("moduli")


@pytest.mark.parametrize("name", ["linear", "made"])
def test_an_entry_point_is_an_algorithm_or_a_class_of_one(others, name):
    algorithm = installed_algorithm(name)

    assert algorithm.name == name
    assert list(algorithm.initial_partitions(5, 3)) == [0, 1, 2, 0, 1]


@pytest.mark.usefixtures("others")
def test_an_unknown_algorithm_lists_those_of_other_packages():
    with pytest.raises(LookupError, match=r"there are: linear, made, modulo, wrong"):
        installed_algorithm("moduli")


@pytest.mark.usefixtures("others")
def test_an_entry_point_of_another_kind_is_refused():
    with pytest.raises(TypeError, match=r"wrong = hashing_of_others:number is not an expansion algorithm"):
        installed_algorithm("wrong")
