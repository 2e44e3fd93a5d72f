"""The changelog of a run is gone: the run says so and does not go on without its state."""

from contextlib import closing

import pytest

from streamapp_runtime.errors import ProcessorLost, RuntimeFailure
from streamapp_runtime.state.changelog import ChangelogPartitionReader
from streamapp_systems.protocols import StreamDescriptor
from streamapp_systems.registry import local_systems
from support.growth import HUB, Growing


@pytest.fixture
def source(tmp_path):
    """An app that has run, without its changelog."""
    source = Growing(tmp_path, {"log": {"path": "log.db"}})
    source.write(*range(8), count=4)
    source.run(source.document(), source.all_copied, run_id="r1")
    with closing(source.admin()) as admin:
        admin.delete([changelog(source)])
    return source


def changelog(source: Growing) -> StreamDescriptor:
    stream = source.stream("in")
    return StreamDescriptor(
        name="_changelog", system=HUB, address="default.app.r1._changelog", format=stream.format, keyed=True
    )


def test_a_run_does_not_go_on(source):
    reason = r"default\.app\.r1\._changelog: deleted or recreated since run r1 began.*Start a new run \(--fresh"
    with pytest.raises(RuntimeFailure, match=reason):
        source.run(source.document(), source.all_copied)


def test_a_worker_names_the_partition_it_misses(source):
    stream = changelog(source)
    with (
        closing(source.admin()) as admin,
        closing(local_systems(source.folder).open_consumer(HUB, source._spec, [stream])) as consumer,
        pytest.raises(ProcessorLost, match=r"no partition 2 of the changelog default\.app\.r1\._changelog"),
    ):
        ChangelogPartitionReader(admin, consumer, stream, 2).end()
