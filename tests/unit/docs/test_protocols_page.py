"""The steps of the protocols are those that tests die at."""

import re

from streamapp_runtime.fail_points import FailPoint
from unit.docs import pages


def test_every_step_is_described_once_and_has_fail_points():
    described = re.findall(r"^\d+\. \*\*([a-z]+-\d)\*\* ", pages.read("protocols.md"), re.MULTILINE)
    assert sorted(described) == sorted(FailPoint)
