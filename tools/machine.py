"""The tiers of tests that this machine can run: `python -m tools.machine`.

The first line names their targets, which `make test` runs; it prints the others, a summary, last. Where the environment
has CI set, every tier is a target: what can't run fails.
"""

import os
import shutil
import sys

from tools.cluster.check import Missing, missing, missing_for_light
from tools.debian_package import can_install
from tools.kafka.jars import default_cache, has_jars
from tools.postgresql import server_programs

_JAVA = Missing(
    what="Java", why="Spark and Kafka run on it", install="install Java 17 or newer, as openjdk-17-jre-headless"
)
_MAVEN = Missing(what="Maven", why="it fetches Kafka's jars", install="install maven")
_GO = Missing(what="Go", why="the S3 server is built from Go modules", install="install Go 1.25 or newer")
_POSTGRESQL = Missing(
    what="PostgreSQL", why="tables are written in it, and catalogs of Iceberg are", install="install postgresql"
)
TIERS = ("integration", "stores", "light", "e2e")


def lacking() -> dict[str, tuple[Missing, ...]]:
    """Return what each tier of tests lacks here, by the name of its target; nothing in CI, where all must run."""
    if os.environ.get("CI"):
        return dict.fromkeys(TIERS, ())
    java = missing_for_java()
    nodes = missing_for_light() if os.environ.get("KUBECONFIG") else missing()
    go = () if shutil.which("go") else (_GO,)
    stores = (*go, *(() if server_programs() or can_install() else (_POSTGRESQL,)))
    return dict(zip(TIERS, (java, stores, missing_for_light(), (*java, *nodes)), strict=True))


def missing_for_java() -> tuple[Missing, ...]:
    """Return what keeps Spark and Kafka from running here; Maven is installed where that needs no questions."""
    java = () if shutil.which("java") else (_JAVA,)
    maven = () if has_jars(default_cache()) or shutil.which("mvn") or can_install() else (_MAVEN,)
    return (*java, *maven)


def targets(lacks: dict[str, tuple[Missing, ...]]) -> list[str]:
    """Name the targets of the tiers that lack nothing."""
    return [tier for tier, items in lacks.items() if not items]


def summary(lacks: dict[str, tuple[Missing, ...]]) -> str:
    """Return what could not run, why, and what to install."""
    lines = [f"   make {tier}: {item}" for tier, items in lacks.items() for item in items]
    return "\n".join(["== this machine can't run all tests:", *lines] if lines else ["== all tests ran"]) + "\n"


def main() -> None:
    """Print the targets, then the summary."""
    lacks = lacking()
    sys.stdout.write(f"{' '.join(targets(lacks))}\n{summary(lacks)}")


if __name__ == "__main__":
    main()
