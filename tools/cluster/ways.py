"""The two ways to nodes: the published node image where it can be had, else one made here. Chosen by the machine."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tools.cluster.engines import Engine, own_engine
from tools.cluster.errors import ClusterError
from tools.cluster.kube_images import REPOSITORY
from tools.cluster.node_image import node_image
from tools.cluster.podman import Podman
from tools.cluster.process import attempt, run, say
from tools.cluster.versions import VERSIONS

_PULL_SECONDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """An engine and the node image it will run; `repository` is where kubeadm finds its images in it."""

    engine: Engine
    image: str
    repository: str | None = None


def choose_way(cache: Path) -> Way:
    """Find the published node image or make one, and tell the user which.

    Raises:
        ClusterError: neither is possible here.
    """
    reasons = []
    for program in ("docker", "podman"):
        way, reason = _published(Engine(program=program))
        if way:
            say(f"== nodes: the published image, by {program}")
            return way
        reasons.append(f"{program}: {reason}")
    say(f"== nodes: self-built, as there is no published image ({'; '.join(reasons)})")
    podman = Podman(cache)
    podman.prepare()
    return Way(engine=own_engine(podman), image=node_image(cache, podman), repository=REPOSITORY)


def _published(engine: Engine) -> tuple[Way | None, str]:
    """Give the way by an ordinary engine, or the reason why there is none."""
    image = VERSIONS.published.node_image
    if not shutil.which(engine.program):
        return None, "not installed"
    if not engine.answers():
        return None, "not running"
    if attempt([engine.program, "image", "inspect", image]).returncode == 0:
        return Way(engine=engine, image=image), ""
    try:
        run([engine.program, "pull", image], timeout=_PULL_SECONDS)
    except ClusterError as error:
        return None, f"can't pull {image.partition('@')[0]}: {_last_line(str(error))}"
    return Way(engine=engine, image=image), ""


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:120]
