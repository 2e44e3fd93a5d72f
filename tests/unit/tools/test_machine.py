from tools.cluster.check import Missing
from tools.machine import lacking, summary, targets

GO = Missing(what="Go", why="Kubernetes is built", install="install Go")
JAVA = Missing(what="Java", why="Spark runs on it", install="install Java")
ALL = {"integration": (), "stores": (), "light": (), "e2e": ()}


def test_a_machine_that_has_all_runs_all():
    assert targets(ALL) == ["integration", "stores", "light", "e2e"]
    assert summary(ALL) == "== all tests ran\n"


def test_in_ci_every_tier_is_a_target(monkeypatch):
    monkeypatch.setenv("CI", "true")
    assert lacking() == ALL


def test_tiers_that_lack_nothing_run_where_others_can_t():
    assert targets(ALL | {"stores": (GO,), "light": (GO,), "e2e": (GO,)}) == ["integration"]
    assert targets(ALL | {"integration": (JAVA,), "e2e": (JAVA,)}) == ["stores", "light"]
    assert targets({"integration": (JAVA,), "stores": (GO,), "light": (GO,), "e2e": (JAVA, GO)}) == []


def test_what_could_not_run_is_named_with_its_reason_and_what_to_do():
    told = summary(ALL | {"e2e": (JAVA, GO)}).splitlines()[1:]
    assert told == [
        "   make e2e: Java is missing (Spark runs on it): install Java",
        "   make e2e: Go is missing (Kubernetes is built): install Go",
    ]
