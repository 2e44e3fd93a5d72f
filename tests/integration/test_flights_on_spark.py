import pytest

from streamapp_runtime.spark.spark_host import SparkHost
from support import flights

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("processors", [1, 3])
def test_the_example_finds_on_spark_what_duckdb_finds(tmp_path, processors):
    summary = flights.run(tmp_path, processors, SparkHost)
    flights.check(tmp_path, summary)
