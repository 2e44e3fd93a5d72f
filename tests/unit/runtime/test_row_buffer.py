import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.writing.row_buffer import RowBuffer, sort_by_partition


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5), min_size=1, max_size=5))
def test_rows_that_waited_are_divided_by_partition_in_the_order_they_came(batches):
    waiting, number = RowBuffer(), 0
    for batch in batches:
        waiting.add(pa.table({"partition": batch, "number": range(number, number + len(batch))}))
        number += len(batch)
    assert waiting.count == number
    rows = waiting.drain()
    assert waiting.count == 0
    divided, places = sort_by_partition(rows, rows.column("partition").to_numpy())
    found = {partition: divided[place].column("number").to_pylist() for partition, place in places}
    partitions = np.concatenate(batches)
    assert found == {p: np.flatnonzero(partitions == p).tolist() for p in sorted(set(partitions.tolist()))}


def test_rows_with_other_columns_do_not_wait_with_those_that_do():
    waiting = RowBuffer()
    waiting.add(pa.table({"a": [1]}))
    assert waiting.fits(pa.table({"a": [2]}))
    assert not waiting.fits(pa.table({"b": [2]}))
    waiting.drain()
    assert waiting.fits(pa.table({"b": [2]}))
