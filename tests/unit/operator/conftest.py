"""An operator with one app, as most tests begin."""

import pytest

from support.operated import Operated


@pytest.fixture
def operated():
    operated = Operated()
    operated.apply().reconcile_all()
    return operated


@pytest.fixture
def running(operated):
    return operated.runs()
