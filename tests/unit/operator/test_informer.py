"""The cache is right whatever order events and answers come in, and a resync applies what the watches missed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_operator.observe.informer import Informer
from streamapp_operator.observe.namespace_selection import NamespaceSelection
from streamapp_operator.observe.object_cache import CachedApi, ObjectCache
from streamapp_operator.observe.resource_views import AppKey
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.kubernetes_api import MemoryCluster

SHOP = AppKey(namespace="default", name="shop")


def item(version, uid="u-1", name="shop-driver-1"):
    labels = {"streamapp.dev/app": "shop"}
    metadata = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(version), "labels": labels}
    return {"metadata": metadata, "spec": {}}


@given(st.permutations(range(1, 6)))
def test_the_newest_version_wins_in_any_order(versions):
    cache = ObjectCache()
    for version in versions:
        cache.put(Kind.POD, item(version))
    assert cache.list_objects(SHOP)[Kind.POD, "shop-driver-1"]["metadata"]["resourceVersion"] == "5"


def test_what_is_gone_does_not_come_back_with_a_late_event():
    cache = ObjectCache()
    cache.put(Kind.POD, item(1))
    cache.remove(Kind.POD, item(3))
    assert not cache.put(Kind.POD, item(2))
    assert cache.list_objects(SHOP) == {}
    assert cache.put(Kind.POD, item(4, uid="u-2"))


def test_a_late_end_of_a_namesake_takes_nothing_away():
    cache = ObjectCache()
    cache.put(Kind.POD, item(5, uid="u-2"))
    cache.remove(Kind.POD, item(3, uid="u-1"))
    assert (Kind.POD, "shop-driver-1") in cache.list_objects(SHOP)


def test_writes_are_cached_before_the_watch_reports_them():
    cluster, cache = MemoryCluster(), ObjectCache()
    body = {"metadata": {"name": "x", "namespace": "default", "labels": {"streamapp.dev/app": "shop"}}, "spec": {}}
    CachedApi(cluster, cache).create(Kind.SERVICE, body)
    assert (Kind.SERVICE, "x") in cache.list_objects(SHOP)


class TestResync:
    @pytest.fixture
    def cluster(self):
        cluster = MemoryCluster()
        for name in ("stays", "goes"):
            labels = {"streamapp.dev/app": "shop"}
            cluster.create(
                Kind.SERVICE, {"metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": {}}
            )
        return cluster

    @pytest.fixture
    def changed(self):
        return []

    @pytest.fixture
    def cache(self):
        return ObjectCache()

    @pytest.fixture
    def informer(self, cluster, cache, changed):
        informer = Informer(cluster, cache, changed.append, NamespaceSelection(["default"]))
        informer.list_all()
        changed.clear()
        return informer

    def test_nothing_was_missed(self, informer, changed):
        assert informer.resync(lambda: None) == 0
        assert changed == []

    def test_what_the_watches_missed_is_applied(self, informer, cluster, cache, changed):
        cluster.remove(Kind.SERVICE, "default", "goes")
        cluster.change(Kind.SERVICE, "default", "stays", spec={"a": 1})
        assert informer.resync(lambda: None) == 2
        assert [name for _, name in cache.list_objects(SHOP)] == ["stays"]
        assert changed == [SHOP, SHOP]
        assert informer.resync(lambda: None) == 0

    def test_what_the_watches_report_meanwhile_was_not_missed(self, informer, cluster, changed):
        def catch_up():
            informer.handle_event("MODIFIED", Kind.SERVICE, cluster.get(Kind.SERVICE, "default", "stays"))

        cluster.change(Kind.SERVICE, "default", "stays", spec={"a": 1})
        assert informer.resync(catch_up) == 0

    def test_what_is_made_during_a_resync_stays(self, informer, cluster, cache):
        def made_meanwhile():
            body = {
                "metadata": {"name": "new", "namespace": "default", "labels": {"streamapp.dev/app": "shop"}},
                "spec": {},
            }
            informer.handle_event("ADDED", Kind.SERVICE, cluster.create(Kind.SERVICE, body))

        assert informer.resync(made_meanwhile) == 0
        assert (Kind.SERVICE, "new") in cache.list_objects(SHOP)
