import json
from datetime import UTC, datetime
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.deployment.app_documents import SCHEMA_VERSION, DocumentUnreadableError
from streamapp_core.deployment.app_record import (
    RECORD,
    AcceptedSpec,
    AppRecord,
    EpochOutdatedError,
    Launch,
    LaunchCause,
    digest,
    read_launch,
)
from streamapp_core.deployment.driver_reports import (
    LOCALITY,
    PROGRESS,
    BrokenClaim,
    DriverPhase,
    LocalityReport,
    Notice,
    NoticeReason,
    ProgressReport,
    Stall,
    StreamProgress,
)
from streamapp_core.deployment.kubernetes_names import document_name, driver_host, driver_pod, executor_prefix
from streamapp_core.metadata_store import InMemoryMetadataStore

GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2025, 1, 1, tzinfo=UTC)
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True)


def record(epoch=3, text="{}"):
    version = {"app": digest(text), "run_id": "r1", "counts": {"orders": 4}}
    launch = Launch(
        **version, epoch=epoch, processors=2, executor_template={"spec": {}}, cause=LaunchCause.FIRST_START, at=NOW
    )
    return AppRecord(accepted=AcceptedSpec(**version, generation=1), launch=launch, apps={digest(text): text})


def test_a_driver_finds_what_its_epoch_runs():
    store = InMemoryMetadataStore()
    store.put(RECORD, record(text='{"kind": "StreamApp"}').to_bytes())
    launch, text = read_launch(store, 3)
    assert (launch, text) == (record(text='{"kind": "StreamApp"}').launch, '{"kind": "StreamApp"}')


@pytest.mark.parametrize("epoch", [2, 4])
def test_a_driver_of_another_epoch_is_told_to_go(epoch):
    store = InMemoryMetadataStore()
    store.put(RECORD, record().to_bytes())
    with pytest.raises(EpochOutdatedError, match=f"epoch {epoch} is not active: epoch 3 is"):
        read_launch(store, epoch)


def test_a_driver_without_a_record_is_told_to_go():
    with pytest.raises(EpochOutdatedError, match="none is"):
        read_launch(InMemoryMetadataStore(), 1)


def test_texts_that_nothing_names_any_more_are_dropped():
    before = record(text="old")
    accepted = AcceptedSpec(app=digest("new"), run_id="r1", counts={}, generation=2)
    both = before.with_versions(accepted=accepted, launch=before.launch, texts={digest("new"): "new"})
    assert set(both.apps.values()) == {"old", "new"}
    newer = before.launch.model_copy(update={"app": digest("new")})
    assert set(both.with_versions(accepted=accepted, launch=newer, texts={}).apps.values()) == {"new"}


DOCUMENTS = {
    RECORD: record(),
    LOCALITY: LocalityReport(run_id="r1", epoch=3, locations={"node-a": (0, 2), "node-b": (1,)}),
    PROGRESS: ProgressReport(
        run_id="r1",
        epoch=3,
        phase=DriverPhase.RUNNING,
        since=NOW,
        running=("0",),
        streams={"orders": StreamProgress(read=7, watermark=1)},
        stalled=(Stall(stream="orders", since=NOW, reason="partition 3 is silent"),),
        broken_claims=(BrokenClaim(stream="orders", example="kafka.orders[0], offset 3"),),
        notices=(Notice(reason=NoticeReason.TABLE_INCOMPLETE, message="table customer lacks rows"),),
    ),
}


@pytest.mark.parametrize("key", DOCUMENTS)
def test_documents_come_back_as_they_were(key):
    store = InMemoryMetadataStore()
    store.put(key, DOCUMENTS[key].to_bytes())
    assert type(DOCUMENTS[key]).read(store, key) == DOCUMENTS[key]


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION + 1))
@pytest.mark.parametrize("key", DOCUMENTS)
def test_the_documents_of_every_schema_version_load(key, version):
    store = InMemoryMetadataStore()
    store.put(key, (GOLDEN / f"v{version}-{key}.json").read_bytes())
    assert type(DOCUMENTS[key]).read(store, key) == DOCUMENTS[key]


@pytest.mark.parametrize("key", DOCUMENTS)
def test_todays_bytes_are_those_of_the_newest_golden_file(key):
    golden = (GOLDEN / f"v{SCHEMA_VERSION}-{key}.json").read_bytes()
    assert DOCUMENTS[key].to_bytes() == golden


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"schemaVersion": 99}'])
def test_what_can_not_be_read_is_named(content):
    store = InMemoryMetadataStore()
    store.put(LOCALITY, content)
    with pytest.raises(DocumentUnreadableError, match="`locality`"):
        LocalityReport.read(store, LOCALITY)


def test_fields_of_later_releases_are_ignored_within_a_schema_version():
    content = b'{"schemaVersion": %d, "runId": "r1", "epoch": 1, "locations": {}, "new": 1}' % SCHEMA_VERSION
    store = InMemoryMetadataStore()
    store.put(LOCALITY, content)
    assert LocalityReport.read(store, LOCALITY).run_id == "r1"


def replaced(document, path, word):
    """Return the bytes of a document with another word at a path."""
    content = json.loads(document.to_bytes())
    *above, last = path
    reduce(getitem, above, content)[last] = word
    return json.dumps(content).encode()


WORDS_FOR_PEOPLE = {
    (RECORD, ("launch", "cause")): lambda record: record.launch.cause,
    (RECORD, ("launch", "stop")): lambda record: record.launch.stop,
    (PROGRESS, ("notices", 0, "reason")): lambda progress: progress.notices[0].reason,
}


@given(st.sampled_from(sorted(WORDS_FOR_PEOPLE)), st.from_regex(r"[A-Z][a-z]{3,9}Later", fullmatch=True))
def test_a_word_of_a_later_release_that_nothing_depends_on_keeps_no_document_from_being_read(place, word):
    """Drivers of earlier images read the record that a later operator writes."""
    key, path = place
    store = InMemoryMetadataStore()
    store.put(key, replaced(DOCUMENTS[key], path, word))
    found = type(DOCUMENTS[key]).read(store, key)
    assert WORDS_FOR_PEOPLE[place](found).name == "UNKNOWN"
    assert json.loads(found.to_bytes()) == json.loads(replaced(DOCUMENTS[key], path, "Unknown"))


def test_a_phase_of_a_later_release_is_not_guessed():
    store = InMemoryMetadataStore()
    store.put(PROGRESS, replaced(DOCUMENTS[PROGRESS], ["phase"], "Resting"))
    with pytest.raises(DocumentUnreadableError, match=r"`progress` .*phase.* a later release wrote it"):
        ProgressReport.read(store, PROGRESS)


def test_a_hundred_thousand_tasks_fit_into_one_locality_report():
    report = LocalityReport(
        run_id="r1", epoch=1, locations={f"node-{n}": tuple(range(n, 100_000, 1_000)) for n in range(1_000)}
    )
    assert len(report.to_bytes()) < 800_000


@given(NAMES, NAMES, st.integers(1, 999_999), st.integers(1, 999_999))
def test_no_two_apps_share_a_name(app, other, epoch, other_epoch):
    if app != other:
        assert driver_pod(app, epoch) != driver_pod(other, other_epoch)
        assert document_name(app, "record") != document_name(other, "record")


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_documents_of_different_keys_have_different_names(key, other):
    assert (document_name("shop", key) == document_name("shop", other)) == (key == other)


def test_the_longest_names_fit_into_a_pod_and_a_host():
    app = "a" * 40
    assert len(driver_pod(app, 999_999)) <= 63
    assert len(f"{executor_prefix(app, 999_999)}-exec-99999") <= 63
    assert driver_host("shop", 3, "default") == "shop-driver-3.shop-driver.default.svc"
