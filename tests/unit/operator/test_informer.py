"""The cache is right whatever order events and answers come in, and a resync applies what the watches missed."""

import weakref

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


def test_of_an_object_only_what_is_read_is_kept_and_texts_are_shared():
    cache = ObjectCache()
    for kind, name in ((Kind.SERVICE, "shop-driver"), (Kind.POD, "shop-driver-1")):
        object_with_managers = item(1, uid=name, name=name) | {"spec": {"nodeName": "".join(["node", "-1"])}}
        object_with_managers["metadata"]["managedFields"] = [{}]
        cache.put(kind, object_with_managers)
    found = cache.list_objects(SHOP)
    service, pod = found[Kind.SERVICE, "shop-driver"], found[Kind.POD, "shop-driver-1"]
    assert service == {"metadata": item(1, uid="shop-driver", name="shop-driver")["metadata"]}
    assert pod == item(1, uid="shop-driver-1") | {"spec": {"nodeName": "node-1"}}
    cache.put(Kind.POD, item(2, uid="other", name="shop-driver-2") | {"spec": {"nodeName": "".join(["node-", "1"])}})
    other = cache.list_objects(SHOP)[Kind.POD, "shop-driver-2"]
    assert other["spec"]["nodeName"] is pod["spec"]["nodeName"]


class Listed(dict):
    """An object of a listing; a plain dict can't be referred to weakly."""


class ForgetfulApi:
    """Reads of a cluster; `most_kept` is the largest number of listed objects that somebody kept at a time."""

    def __init__(self, cluster):
        self.get = cluster.get
        self.most_kept = 0
        self._cluster = cluster
        self._listed = []

    def iterate(self, kind, namespace, selector=""):
        for found in self._cluster.list(kind, namespace, selector):
            listed = Listed(found)
            self._listed.append(weakref.ref(listed))
            yield listed
            self.most_kept = max(self.most_kept, sum(reference() is not None for reference in self._listed))


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

    def test_objects_that_the_cache_has_are_not_kept_until_the_listing_ends(self, cluster, cache):
        """Of a large cluster, a copy of all objects beside the cache would take as much memory again."""
        api = ForgetfulApi(cluster)
        informer = Informer(api, cache, lambda key: None, NamespaceSelection(["default"]))
        informer.list_all()
        assert informer.resync(lambda: None) == 0
        assert api.most_kept <= 1

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
