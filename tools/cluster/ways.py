"""The two ways to nodes: the published node image where it can be had, else one made here. Chosen by the machine."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tools.cluster.engines import Engine, own_engine
from tools.cluster.errors import ClusterError
from tools.cluster.kube_images import REPOSITORY
from tools.cluster.node_image import node_image, node_image_name
from tools.cluster.podman import Podman
from tools.cluster.process import attempt, run, say
from tools.cluster.versions import VERSIONS

_PULL_SECONDS = 900
_REASON = 120


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
    way, reasons = published_way()
    if way:
        say(f"== nodes: the published image, by {way.engine.name}")
        return way
    say(f"== nodes: self-built, as there is no published image ({reasons})")
    podman = Podman(cache)
    podman.prepare()
    return Way(engine=own_engine(podman), image=node_image(cache, podman), repository=REPOSITORY)


def possible_images(cache: Path) -> set[str]:
    """Name the images that `choose_way` may choose."""
    return {VERSIONS.published.node_image, node_image_name(cache)}


def published_way() -> tuple[Way | None, str]:
    """Return the way by an ordinary engine that has the published image or can pull it, or the reasons why none is."""
    reasons = []
    for program in ("docker", "podman"):
        way, reason = _published(Engine(program=program))
        if way:
            return way, ""
        reasons.append(f"{program}: {reason}")
    return None, "; ".join(reasons)


def _published(engine: Engine) -> tuple[Way | None, str]:
    """Return the way by an ordinary engine, or the reason why there is none."""
    image = VERSIONS.published.node_image
    if not shutil.which(engine.program):
        return None, "not installed"
    if not engine.answers():
        return None, "not running"
    if attempt([engine.program, "image", "inspect", image]).returncode == 0:
        return Way(engine=engine, image=image), ""
    say(f"== {engine.program} pulls {image.partition('@')[0]}")
    try:
        run([engine.program, "pull", image], timeout=_PULL_SECONDS)
    except ClusterError as error:
        return None, f"can't pull {image.partition('@')[0]}: {_last_line(str(error))}"
    return Way(engine=engine, image=image), ""


def _last_line(text: str) -> str:
    line = (text.strip().splitlines() or [""])[-1]
    return line if len(line) <= _REASON else f"...{line[-_REASON:]}"  # the cause comes last
