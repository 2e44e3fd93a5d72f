"""Events of transitions: which are emitted, as what, and once."""

import pytest

from streamapp_operator.status.events import emit_notices, emit_transitions
from support.observed_values import resource


def condition(kind, status, reason, message="why"):
    return {"type": kind, "status": status, "reason": reason, "message": message}


def emitted(before, *after, epoch=1, generation=1):
    app = resource(status={"conditions": before}, generation=generation)
    return list(emit_transitions(app, {"conditions": after}, epoch))


READY = condition("Ready", "True", "Running")


@pytest.mark.parametrize(
    "before, after, expected",
    [
        (None, READY, "Normal"),
        (condition("Ready", "False", "Starting"), READY, "Normal"),
        (READY, READY, None),
        (READY, condition("Ready", "True", "Running", "other words"), None),
        (READY, condition("Ready", "False", "CrashLoop"), "Warning"),
        (READY, condition("Ready", "False", "Starting"), None),
        (READY, condition("Ready", "False", "Suspended"), "Normal"),
        (READY, condition("Ready", "True", "Completed"), "Normal"),
        (None, condition("Degraded", "True", "UnknownColumn"), "Warning"),
        (None, condition("Degraded", "False", "AsExpected"), None),
        (None, condition("Accepted", "True", "Accepted"), None),
        (condition("Accepted", "False", "UnknownColumn"), condition("Accepted", "True", "Accepted"), "Normal"),
        (condition("Accepted", "Unknown", "SystemUnavailable"), condition("Accepted", "True", "Accepted"), None),
        (None, condition("Accepted", "False", "UnknownColumn"), "Warning"),
        (None, condition("Accepted", "Unknown", "PartitionCountsPending"), None),
        (None, condition("Accepted", "Unknown", "SystemUnavailable"), "Warning"),
        (None, condition("ProcessorsReady", "False", "Unschedulable"), None),
        (None, condition("LocalityReady", "True", "Reported"), None),
        (None, condition("Reconciling", "True", "Placing"), None),
        (None, condition("Completed", "False", "NotCompleted"), None),
        (None, condition("Planned", "False", "UnsupportedExpansion"), "Warning"),
    ],
)
def test_a_transition_is_an_event_if_people_should_notice_it(before, after, expected):
    events = emitted([] if before is None else [before], after)
    found = [("Warning" if event.warning else "Normal") for event in events]
    assert found == ([] if expected is None else [expected])
    assert [(event.reason, event.message) for event in events] == [(after["reason"], "why") for _ in events]


def test_the_same_content_in_several_conditions_is_one_event():
    events = emitted([], *(condition(kind, "False", "CrashLoop") for kind in ("DriverReady", "Ready")))
    assert [event.reason for event in events] == ["CrashLoop"]


def test_notices_that_no_condition_shows_are_events_once():
    refreshed = {"reason": "SideInputRefreshed", "message": "customers changed"}
    begun = {"reason": "NewRun", "message": "run r2 begins"}
    shown_elsewhere = {"reason": "TableIncomplete", "message": "table customer lacks rows"}
    app = resource(status={"progress": {"notices": [refreshed]}})
    after = {"progress": {"notices": [refreshed, begun, shown_elsewhere]}}
    (event,) = emit_notices(app, after, 1)
    assert (event.warning, event.reason, event.message) == (False, "NewRun", "run r2 begins")
    assert not list(emit_notices(resource(status=after), after, 1))
    assert not list(emit_notices(resource(), {}, 1))


class TestNames:
    NAME = emitted([], READY)[0].name

    def test_deciding_again_gives_the_same_event(self):
        assert emitted([], READY)[0].name == self.NAME
        assert self.NAME.startswith("shop.")

    @pytest.mark.parametrize(
        "events",
        [
            emitted([], READY, epoch=2),
            emitted([], READY, generation=2),
            emitted([], condition("Ready", "True", "Running", "other words")),
            emitted([], condition("Ready", "True", "Completed")),
            emitted([], condition("Planned", "True", "Running")),
        ],
        ids=["epoch", "generation", "message", "reason", "condition"],
    )
    def test_another_one_has_another_name(self, events):
        assert [event.name == self.NAME for event in events] == [False]


@pytest.mark.parametrize(
    "message, expected", [("", "Ready is True"), ("x" * 2_000, "x" * 1_000)], ids=["without words", "long"]
)
def test_messages_have_words_and_fit(message, expected):
    assert emitted([], condition("Ready", "True", "Running", message))[0].message == expected
