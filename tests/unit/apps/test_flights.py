import pytest

from support import flights


@pytest.mark.parametrize("processors", [1, 3])
def test_the_example_finds_what_duckdb_finds(tmp_path, processors):
    summary = flights.run(tmp_path, processors)
    flights.check(tmp_path, summary)
