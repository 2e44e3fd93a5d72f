"""Names that two sides make for themselves: one finds what the other has named."""

from dataclasses import dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamapp_core import naming
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_operator.observe.resource_views import AppKey
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


def plan(app):
    metadata = {"name": app.name} | ({} if app.namespace is None else {"namespace": app.namespace})
    metadata |= {} if app.uid is None else {"uid": app.uid}
    return accepted({**APP, "metadata": metadata}, {"in": 2})


@given(APPS, st.sets(LABEL, min_size=1, max_size=3))
def test_what_is_fenced_is_what_is_opened(app, processors):
    planned = plan(app)
    fenced = build_job_model(planned, None, dict.fromkeys(processors, "any")).transactional_ids
    assert set(fenced) == {transaction_owner(planned, processor, 1).id for processor in processors}


@given(APPS)
def test_what_the_operator_deletes_and_counts_is_what_a_run_has_made(app):
    planned = plan(app)
    key = AppKey(namespace=app.namespace or naming.DEFAULT_NAMESPACE, name=app.name)
    made = [
        planned.streams["by"].address,
        changelog_stream(planned).address,
        coordinator_stream(planned.app.metadata, "log").address,
    ]
    assert all(address.startswith(naming.stream_prefix(key)) for address in made)
    assert len(set(made)) == len(made)


@given(APPS, APPS, LABEL, LABEL)
def test_no_name_of_one_app_begins_as_those_of_another(one, other, run_id, stream):
    assume(naming.consumer_group(one) != naming.consumer_group(other))
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
        naming.transactional_id(SHOP, "r1", "0"): "1f-r1-0",
        naming.transactional_id(LAPTOP, "r1", "0"): "shop-r1-0",
        naming.coordinator_transactional_id(SHOP): "1f-coordinator",
        naming.consumer_group(SHOP): "web.shop",
        naming.consumer_group(LAPTOP): "default.shop",
        naming.stream_prefix(SHOP): "web.shop.",
        naming.run_stream_address(SHOP, "r1", "by"): "web.shop.r1.by",
        naming.run_stream_address(LAPTOP, "r1", naming.CHANGELOG): "default.shop.r1._changelog",
        naming.coordinator_stream_address(SHOP): "web.shop._coordinator",
        naming.app_state_path(SHOP): "1f",
        naming.run_state_path(LAPTOP, "r1"): "shop/r1",
        naming.local_run_path("shop"): ".streamapp/shop",
    }.items(),
)
def test_names_stay_as_they_are_since_runs_and_topics_outlive_releases(name, expected):
    assert name == expected
