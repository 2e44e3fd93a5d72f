"""How many rows a commit may have: as many as the brokers take in a few seconds, whatever they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.processor.processor import rows_of_next_commit

FIRST, LARGEST = 10_000, 2_000_000
TRANSACTION_SECONDS = 15.0


def commits(rows_a_second, count):
    most, seconds = FIRST, []
    for _ in range(count):
        seconds.append(most / rows_a_second)
        most = rows_of_next_commit(most, most, seconds[-1])
    return most, seconds


def test_brokers_that_take_all_at_once_get_large_commits_soon():
    most, _ = commits(2_000_000, 4)
    assert most == LARGEST


@given(st.floats(800, 100_000))
def test_no_backlog_makes_a_transaction_that_brokers_would_abort(rows_a_second):
    _, seconds = commits(rows_a_second, 20)
    assert max(seconds) < TRANSACTION_SECONDS
    assert seconds[-1] == pytest.approx(3.0, rel=0.2)


def test_commits_at_their_interval_change_nothing():
    assert rows_of_next_commit(80_000, 500, 0.01) == 80_000
    assert rows_of_next_commit(80_000, 0, 0.0) == 80_000


def test_brokers_that_become_slow_get_less_and_a_hiccup_with_few_rows_is_made_up_for():
    assert rows_of_next_commit(LARGEST, LARGEST, 12.0) == LARGEST // 4
    after = rows_of_next_commit(LARGEST, 10, 12.0)
    assert after == 1_000
    assert commits_until_large(after) <= 5


def commits_until_large(most):
    count = 0
    while most < LARGEST:
        most, count = rows_of_next_commit(most, most, 0.05), count + 1
    return count
