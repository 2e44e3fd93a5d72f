"""What all unit tests share: the settings of property tests, and a word about vectors that can't run yet."""

from hypothesis import settings

from conformance import files

# The same examples in every run, and no clock: the machine may be busy.
settings.register_profile("unit", derandomize=True, database=None, deadline=None)
settings.load_profile("unit")


def pytest_terminal_summary(terminalreporter):
    for name, count in files.later():
        terminalreporter.write_line(f"comes later: {name} ({count} vectors)")
