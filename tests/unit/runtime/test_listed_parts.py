"""Staged parts in checkpoints: those whose rows replace others are listed by all tasks, for each to publish first."""

from types import SimpleNamespace

import pytest

from streamapp_core.spec.systems import SystemKind
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.committer import Committer
from streamapp_runtime.processor.state_opener import publish_staged_parts
from streamapp_runtime.state.checkpoint import StagedFile
from streamapp_systems.protocols import OutputPlace, StagedPart

PART = StagedPart(stream="out", staged="out-1/7", final="out")


class Task:
    """A task that notes what its checkpoint lists."""

    def __init__(self, name, *, touched=True):
        self.name, self.touched, self.positions, self.parts = name, touched, {}, None

    def flush(self):
        pass

    def changes(self):
        return []

    def checkpoint(self, parts):
        self.parts = list(parts)
        return b""

    def commit(self, position, checkpoint):
        pass

    def commit_unchanged(self):
        pass


class Output:
    """An output with one part to publish."""

    def __init__(self, seconds=0.0):
        self.publish_seconds = seconds
        self.staged, self.published = (PART,), []

    def stage(self):
        staged, self.staged = self.staged, ()
        return staged

    def full(self, parts):
        return ()

    def publish(self, parts):
        self.published.append(list(parts))


def committer(kind, tasks, output):
    """Give what commits tasks and an output of a kind."""
    idle = SimpleNamespace(flush=lambda: None, send=lambda _now: None, commit=lambda: None)
    changelogs = {task.name: Ssp("log", "changelog", number) for number, task in enumerate(tasks)}
    producer = SimpleNamespace(
        prepare=lambda: None,
        was_away=lambda: False,
        send_all=lambda *_: None,
        send=lambda *_, **__: None,
        commit=lambda: dict.fromkeys(changelogs.values(), 1),
    )
    place = OutputPlace(kind, "there")
    writers = SimpleNamespace(
        intermediate=idle, outputs=idle, producer=producer, files={"x": output}, places={"x": place}
    )
    return Committer(
        SimpleNamespace(tasks=tasks, shared=idle),
        changelogs,
        writers,
        idle,
        clock=lambda: 0.0,
        raise_if_stopped=lambda: None,
    )


@pytest.mark.parametrize(("kind", "listing"), [(SystemKind.FILE, "a"), (SystemKind.POSTGRESQL, "ac")])
def test_the_checkpoints_of_tasks_list_the_parts_that_they_have_to_publish(kind, listing):
    tasks, output = [Task("a"), Task("b", touched=False), Task("c")], Output()
    committer(kind, tasks, output).commit(0)
    assert output.published == [[PART]]
    assert "".join(task.name for task in tasks if task.parts) == listing
    assert tasks[1].parts is None


def test_a_part_that_several_checkpoints_list_is_published_once():
    listed = StagedFile(kind=SystemKind.POSTGRESQL, folder="there", stream="out", staged="out-1/7", final="out")
    states = {name: SimpleNamespace(checkpoint=SimpleNamespace(parts=(listed,))) for name in "abc"}
    output = Output()
    publish_staged_parts(states, lambda _place, _number: output)
    assert output.published == [[PART]]


@pytest.mark.parametrize(
    ("kind", "seconds", "expected"),
    [(SystemKind.FILE, 5.0, True), (SystemKind.FILE, 0.0, False), (SystemKind.DELTA, 5.0, False)],
)
def test_a_commit_is_wanted_that_lists_joined_parts_no_more(kind, seconds, expected):
    output = Output(seconds)
    tasks = [Task("a")]
    found = committer(kind, tasks, output)
    for last, published, wanted in ((False, not seconds, False), (True, True, expected), (True, True, False)):
        found.commit(0, last=last)
        assert (bool(output.published), found.lists_published) == (published, wanted)
    assert tasks[0].parts == []
