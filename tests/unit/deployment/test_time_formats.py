from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.time_formats import format_event_time, format_micro_time, format_time

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)


def test_times_are_written_as_kubernetes_does():
    assert format_time(MOMENT) == "2026-01-02T03:04:05Z"
    assert format_micro_time(MOMENT) == "2026-01-02T03:04:05.000006Z"
    assert format_time(MOMENT.astimezone(timezone(timedelta(hours=5)))) == "2026-01-02T03:04:05Z"


def test_event_times_are_written_for_people():
    assert format_event_time(1_767_323_045_006) == "2026-01-02 03:04:05"


@given(st.datetimes(timezones=st.just(UTC)).filter(lambda moment: moment.year >= 1970))
def test_what_is_written_reads_back(moment):
    assert datetime.fromisoformat(format_micro_time(moment)) == moment
    assert datetime.fromisoformat(format_time(moment)) == moment.replace(microsecond=0)
