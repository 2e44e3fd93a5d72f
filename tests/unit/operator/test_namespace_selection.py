"""Namespaces are selected by labels as Kubernetes does it, whatever order events and listings come in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streamapp_operator.observe.informer import Informer
from streamapp_operator.observe.label_selector import LabelSelector
from streamapp_operator.observe.namespace_selection import NamespaceSelection
from streamapp_operator.observe.object_cache import ObjectCache
from streamapp_operator.observe.resource_views import AppKey
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.kubernetes_api import MemoryCluster

SELECTED, NONE = {"team": "a"}, {"team": None}


def namespace(name, version):
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


def expression(operator, *values, key="team"):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}


@pytest.mark.parametrize(
    "selector, text",
    [
        ({}, ""),
        ({"matchLabels": {}}, ""),
        ({"matchLabels": {"b": "2", "a": ""}}, "a=,b=2"),
        (expression("In", "a", "b"), "team in (a,b)"),
        (expression("NotIn", "a"), "team notin (a)"),
        (expression("Exists", key="example.com/team"), "example.com/team"),
        ({"matchLabels": SELECTED, **expression("DoesNotExist", key="old")}, "team=a,!old"),
    ],
)
def test_a_selector_becomes_the_text_that_requests_have(selector, text):
    assert LabelSelector.model_validate(selector).text == text


@pytest.mark.parametrize(
    "selector, said",
    [
        ({"labels": {}}, "labels"),
        ({"matchLabels": {"team": "a,b=c"}}, "pattern"),
        ({"matchLabels": {"": "a"}}, "pattern"),
        (expression("Is", "a"), "operator"),
        (expression("In"), "`In` takes at least one of `values`"),
        (expression("Exists", "a"), "`Exists` takes no `values`"),
    ],
)
def test_a_selector_that_says_nothing_is_refused(selector, said):
    with pytest.raises(ValidationError, match=said):
        LabelSelector.model_validate(selector)


@given(st.lists(st.booleans(), min_size=1), st.data())
def test_the_newest_change_wins_in_any_order(changes, data):
    """A namespace gets and loses its label; versions rise, and events may be late."""
    selection = NamespaceSelection(selector="team=a")
    for version in data.draw(st.permutations(range(len(changes)))):
        (selection.add if changes[version] else selection.remove)(namespace("one", version))
    assert selection.includes("one") == changes[-1]


def test_without_a_selector_all_namespaces_are_selected():
    assert NamespaceSelection().includes("any")


class TestInformer:
    @pytest.fixture
    def cluster(self):
        cluster = MemoryCluster()
        for name in ("one", "two"):
            cluster.create(Kind.NAMESPACE, {"metadata": {"name": name, "namespace": None, "labels": SELECTED}})
            cluster.create(Kind.APP, {"metadata": {"name": "shop", "namespace": name}, "spec": {}})
        cluster.change(Kind.NAMESPACE, None, "two", metadata={"labels": NONE})
        return cluster

    @pytest.fixture
    def changed(self):
        return []

    @pytest.fixture
    def selection(self):
        return NamespaceSelection(selector="team=a")

    @pytest.fixture
    def informer(self, cluster, changed, selection):
        informer = Informer(cluster, ObjectCache(), changed.append, selection)
        informer.list_all()
        return informer

    def label(self, cluster, name, labels):
        cluster.change(Kind.NAMESPACE, None, name, metadata={"labels": labels})
        return cluster.get(Kind.NAMESPACE, None, name)

    def test_apps_of_other_namespaces_are_not_enqueued(self, informer, cluster, changed):
        assert changed == [AppKey(namespace="one", name="shop")]
        informer.handle_event("MODIFIED", Kind.APP, cluster.change(Kind.APP, "two", "shop", spec={"a": 1}))
        assert changed == [AppKey(namespace="one", name="shop")]

    def test_apps_of_a_namespace_that_gets_or_loses_the_label_are_enqueued(self, informer, cluster, changed, selection):
        changed.clear()
        informer.handle_namespace_event("ADDED", self.label(cluster, "two", SELECTED))
        informer.handle_namespace_event("DELETED", self.label(cluster, "one", NONE))
        assert [key.namespace for key in changed] == ["two", "one"]
        assert (selection.includes("one"), selection.includes("two")) == (False, True)

    def test_a_resync_follows_labels_that_the_watch_missed(self, informer, cluster, changed, selection):
        changed.clear()
        self.label(cluster, "two", SELECTED)
        self.label(cluster, "one", NONE)
        assert informer.resync(lambda: None) == 2
        assert sorted(key.namespace for key in changed) == ["one", "two"]
        assert (selection.includes("one"), selection.includes("two")) == (False, True)
        assert informer.resync(lambda: None) == 0

    def test_what_the_watch_reports_during_a_resync_stays(self, informer, cluster, selection):
        def meanwhile():
            informer.handle_namespace_event("ADDED", self.label(cluster, "two", SELECTED))

        assert informer.resync(meanwhile) == 0
        assert selection.includes("two")
