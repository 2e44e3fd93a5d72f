"""Batches of LMDB by its own functions against those of Python's package."""

import lmdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_systems.native.key_groups import order_of
from streamapp_systems.native.lmdb_batches import get_values, lmdb_functions, lmdb_handle, put_entries
from support.compilers import native

_MAP = 1 << 28
KEYS = st.binary(min_size=1, max_size=3)
ENTRIES = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=3) | st.just(bytes(5_000))), max_size=20)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    native()
    with lmdb.open(
        str(tmp_path_factory.mktemp("lmdb")), max_dbs=2, lock=False, sync=False, map_size=_MAP
    ) as environment:
        yield environment


def columns(entries):
    return pa.array([key for key, _ in entries], pa.binary()), pa.array([value for _, value in entries], pa.binary())


def test_the_pinned_package_is_one_that_is_known():
    native()
    assert lmdb_functions() is not None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(ENTRIES, st.booleans()), max_size=4))
def test_entries_are_those_of_a_dictionary(environment, batches):
    expected = {}
    database = environment.open_db(b"entries")
    with environment.begin(write=True) as transaction:
        transaction.drop(database, delete=False)
    for batch, is_sorted in batches:
        keys, values = columns(batch)
        entries = list(zip(keys.to_pylist(), values.to_pylist(), strict=True))
        with environment.begin(write=True) as transaction:
            put_entries(
                lmdb_handle(transaction, database), keys, values, order_of(native(), keys) if is_sorted else None
            )
        expected = {key: value for key, value in {**expected, **dict(entries)}.items() if value is not None}
        with environment.begin() as transaction, transaction.cursor(database) as cursor:
            assert list(cursor) == sorted(expected.items())
            asked = pa.array([*(key for key, _ in batch), b"absent"])
            found = get_values(lmdb_handle(transaction, database), asked)
            assert found.to_pylist() == [expected.get(key) for key in asked.to_pylist()]


def test_keys_behind_all_others_fill_their_pages(environment):
    database = environment.open_db(b"entries")
    even, odd, four_to_a_page = range(0, 1_600, 2), range(1, 1_600, 2), bytes(950)
    with environment.begin(write=True) as transaction:
        transaction.drop(database, delete=False)
        pages = []
        for part in (even, range(1_600, 2_400), odd):
            keys = pa.array([b"%06d" % number for number in part])
            put_entries(lmdb_handle(transaction, database), keys, pa.array([four_to_a_page] * len(part)))
            pages.append(transaction.stat(database)["leaf_pages"])
        assert pages == [200, 400, 600]
        assert transaction.stat(database)["entries"] == 2_400


@pytest.mark.parametrize("key", [b"", bytes(600)])
def test_what_lmdb_refuses_is_its_error(environment, key):
    database = environment.open_db(b"entries")
    with pytest.raises(lmdb.Error, match="MDB_BAD_VALSIZE"), environment.begin(write=True) as transaction:
        put_entries(lmdb_handle(transaction, database), pa.array([key]), pa.array([b"value"]))


def test_only_objects_of_one_environment_have_a_handle(environment, tmp_path):
    database = environment.open_db(b"entries")
    with lmdb.open(str(tmp_path), max_dbs=1) as other, other.begin() as transaction:
        assert lmdb_handle(transaction, database) is None
        assert lmdb_handle(object(), database) is None
