"""Names that two sides make for themselves: one finds what the other has named."""

from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamapp_core import naming
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.spec.systems import KafkaSystem, SystemSpec
from streamapp_runtime.app_streams import changelog_stream, transaction_owner
from streamapp_systems.coordinator_stream import coordinator_stream
from support.plan_documents import accepted, document

APP = document(
    [{"name": "by", "from": "in", "partitionBy": {"key": "k"}}, {"name": "o", "from": "by", "sendTo": "out"}],
    streams={"in": "k string", "out": {}},
)
LABEL = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)


@dataclass(frozen=True)
class App:
    name: str
    namespace: str | None = None
    uid: str | None = None


APPS = st.builds(App, name=LABEL, namespace=st.none() | LABEL, uid=st.none() | st.uuids().map(str))


def document_of(app, beginning=None):
    metadata = {"name": app.name} | ({} if app.namespace is None else {"namespace": app.namespace})
    metadata |= {} if app.uid is None else {"uid": app.uid}
    prefix = {} if beginning is None else {"namePrefix": beginning}
    return {**APP, "metadata": metadata, "spec": {**APP["spec"], **prefix}}


def plan(app, beginning=None, **options):
    return accepted(document_of(app, beginning), {"in": 2}, **options)


def names_in_systems(planned):
    """All that an app is known by in its systems."""
    hub = KafkaSystem(bootstrapServers="b:9092")
    client = SystemSpec(kafka=hub).with_client_name(planned.app.name_prefix).kafka.config
    return {
        planned.streams["by"].address,
        changelog_stream(planned).address,
        coordinator_stream(planned.app, "log").address,
        *build_job_model(planned).transactional_ids,
        naming.coordinator_transactional_id(planned.app.name_prefix),
        planned.app.name_prefix,
        client["group.id"],
        client["client.id"],
    }


@given(APPS, st.none() | st.from_regex(r"[a-zA-Z0-9][-._a-zA-Z0-9]{0,10}[a-zA-Z0-9]", fullmatch=True))
def test_all_names_of_an_app_in_its_systems_begin_with_one_prefix(app, beginning):
    planned = plan(app, beginning)
    expected = f"{beginning or app.namespace or 'default'}.{app.name}"
    assert planned.app.name_prefix == expected
    assert all(name == expected or name.startswith(f"{expected}.") for name in names_in_systems(planned))


@given(APPS, APPS)
def test_two_apps_of_different_namespaces_or_names_have_no_name_in_common(one, other):
    assume((one.namespace or "default", one.name) != (other.namespace or "default", other.name))
    assert names_in_systems(plan(one)).isdisjoint(names_in_systems(plan(other)))


@given(APPS, st.sampled_from(["without", "with"]))
def test_a_run_keeps_the_form_of_its_transactional_ids_so_that_each_owner_fences_the_one_before(app, form):
    new = plan(app)
    assert new.transactional_prefix == f"{new.app.name_prefix}.r1."
    before = build_job_model(new)
    if form == "without":
        before = before.model_copy(update={"transactional_ids": (f"{app.uid or app.name}-r1-0",)})
    continued = plan(app, previous=before)
    assert continued.transactional_prefix + "0" == before.transactional_ids[0]
    assert build_job_model(continued, before).transactional_ids == before.transactional_ids
    document = document_of(app)
    document["spec"]["runId"] = "r2"
    assert accepted(document, {"in": 2}, before).transactional_prefix == f"{new.app.name_prefix}.r2."


def test_clients_keep_the_names_that_the_settings_give_them():
    hub = KafkaSystem(bootstrapServers="b:9092", config={"group.id": "mine", "client.id": "my-client"})
    assert SystemSpec(kafka=hub).with_client_name("default.shop").kafka == hub


@given(APPS, st.sets(LABEL, min_size=1, max_size=3))
def test_what_is_fenced_is_what_is_opened(app, processors):
    planned = plan(app)
    fenced = build_job_model(planned, None, dict.fromkeys(processors, "any")).transactional_ids
    assert set(fenced) == {transaction_owner(planned, processor, 1).id for processor in processors}


@given(APPS)
def test_what_the_operator_deletes_and_counts_is_what_a_run_has_made(app):
    planned = plan(app)
    made = [
        planned.streams["by"].address,
        changelog_stream(planned).address,
        coordinator_stream(planned.app, "log").address,
    ]
    assert all(address.startswith(naming.stream_prefix(planned.app.name_prefix)) for address in made)
    assert len(set(made)) == len(made)


@given(APPS, APPS, LABEL, LABEL)
def test_no_name_of_one_app_begins_as_those_of_another(one, other, run_id, stream):
    one, other = naming.name_prefix(one), naming.name_prefix(other)
    assume(one != other)
    prefix = naming.stream_prefix(one)
    assert not naming.stream_prefix(other).startswith(prefix)
    assert not naming.run_stream_address(other, run_id, stream).startswith(prefix)
    assert not naming.run_stream_address(other, run_id, naming.CHANGELOG).startswith(prefix)
    assert not naming.coordinator_stream_address(other).startswith(prefix)


SHOP = App(name="shop", namespace="web", uid="1f")
LAPTOP = App(name="shop")


@pytest.mark.parametrize(
    ("name", "expected"),
    {
        naming.app_id(SHOP): "1f",
        naming.app_id(LAPTOP): "shop",
        naming.old_transactional_prefix(SHOP, "r1"): "1f-r1-",
        naming.old_transactional_prefix(LAPTOP, "r1"): "shop-r1-",
        naming.old_coordinator_transactional_id(SHOP): "1f-coordinator",
        naming.name_prefix(SHOP): "web.shop",
        naming.name_prefix(LAPTOP): "default.shop",
        naming.name_prefix(SHOP, "team.a"): "team.a.shop",
        naming.transactional_prefix("web.shop", "r1"): "web.shop.r1.",
        naming.coordinator_transactional_id("web.shop"): "web.shop._coordinator",
        naming.stream_prefix("web.shop"): "web.shop.",
        naming.run_stream_address("web.shop", "r1", "by"): "web.shop.r1.by",
        naming.run_stream_address("default.shop", "r1", naming.CHANGELOG): "default.shop.r1._changelog",
        naming.coordinator_stream_address("web.shop"): "web.shop._coordinator",
        naming.app_state_path(SHOP): "1f",
        naming.run_state_path(LAPTOP, "r1"): "shop/r1",
        naming.local_run_path("shop"): ".streamapp/shop",
    }.items(),
)
def test_names_stay_as_they_are_since_runs_and_topics_outlive_releases(name, expected):
    assert name == expected
