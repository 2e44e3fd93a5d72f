"""What all unit tests share: the settings of property tests."""

import os
import sys

import pytest
from hypothesis import settings

# The same examples in every run, and no clock: the machine may be busy.
settings.register_profile("unit", derandomize=True, database=None, deadline=None)
settings.load_profile("unit")

os.environ.setdefault("STREAMAPP_CLASS_ARCHIVES", "")  # no Spark starts early but where a test is of that
pytest.register_assert_rewrite("conformance")


@pytest.fixture
def forget_modules(tmp_path):
    """Forget the modules that a test wrote and imported, at its end and whenever it asks: as a new process would."""
    path = list(sys.path)

    def forget():
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if str(tmp_path) in (getattr(module, "__file__", None) or ""):
                del sys.modules[name]

    yield forget
    forget()
