"""The ordinary way to the images: docker or podman builds the project's Dockerfiles on a published Python image."""

import shutil
from pathlib import Path

from tools.cluster.process import attempt, run, say
from tools.cluster.versions import VERSIONS
from tools.images.base import OPERATOR, RUNTIME
from tools.images.labels import revision, version
from tools.images.packages import ROOT

_FILES = {
    OPERATOR: ROOT / "images" / "operator" / "Dockerfile",
    RUNTIME: ROOT / "images" / "runtime" / "Dockerfile",
}
_PULL_SECONDS = 300


def usable_engine() -> str | None:
    """Name the program that can build the Dockerfiles: it is there, works, and has or gets their base image."""
    base = VERSIONS.published.python_image
    for engine in ("docker", "podman"):
        if not shutil.which(engine) or attempt([engine, "info"], timeout=60).returncode:
            continue
        if attempt([engine, "image", "inspect", base]).returncode == 0:
            return engine
        if attempt([engine, "pull", "--quiet", base], timeout=_PULL_SECONDS).returncode == 0:
            return engine
    return None


def build_with(engine: str, archive: Path) -> dict[str, int]:
    """Build both images, write them to one archive, complete with all layers, and give their sizes in bytes.

    Raises:
        ClusterError: a build failed.
    """
    arguments = ["--build-arg", f"VERSION={version()}", "--build-arg", f"REVISION={revision()}"]
    for name, file in _FILES.items():
        say(f"== {engine} builds {name}")
        run([engine, "build", "--quiet", "--tag", name, "--file", file, *arguments, ROOT])
    several = ["--multi-image-archive"] if engine == "podman" else []
    archive.unlink(missing_ok=True)
    run([engine, "save", *several, "--output", archive, *_FILES])
    sizes = run([engine, "image", "inspect", "--format", "{{.Size}}", *_FILES]).split()
    return dict(zip(_FILES, map(int, sizes), strict=True))
