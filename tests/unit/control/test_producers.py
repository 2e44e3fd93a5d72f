"""The expected producers own a partition of a stream that feeds the intermediate one."""

from streamapp_core.control import expected_producers
from streamapp_core.ssp import Ssp


def test_producers_come_in_natural_order():
    tasks = {f"Partition {p}": [Ssp("kafka", "a", p), Ssp("kafka", "other", p)] for p in (10, 9)}

    assert expected_producers({"p": ["a"]}, tasks) == {"p": ("Partition 9", "Partition 10")}


def test_each_intermediate_stream_has_its_own():
    tasks = {"x": [Ssp("kafka", "a", 0)], "y": [Ssp("kafka", "p", 0)], "z": [Ssp("kafka", "side", 0)]}

    assert expected_producers({"p": {"a"}, "q": {"p", "a"}, "r": ()}, tasks) == {"p": ("x",), "q": ("x", "y"), "r": ()}
