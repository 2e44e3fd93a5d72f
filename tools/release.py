"""Makes what a release publishes: `python -m tools.release`.

The Python package (wheel and source), the packed Helm chart, the definition of StreamApp, a manifest that installs the
operator without Helm, the images, and the checksums of all. Nothing is signed or sent: that takes keys and rights.
"""

import argparse
import hashlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import default_cache
from tools.cluster.errors import ClusterError
from tools.cluster.process import run
from tools.images.build import build_images
from tools.kafka.jars import BrokerError

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "streamapp"
NAMESPACE = "streamapp-system"
SUMS = "SHA256SUMS"
_NAMESPACE_MANIFEST = f"""apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
"""


def make_release(into: Path, *, image: str, images: bool) -> list[Path]:
    """Make all artefacts in a folder that is emptied first, and return their files, sorted.

    Args:
        into: the folder.
        image: the repository that the operator's image will be pulled from, as the manifest names it.
        images: whether the images are made, which takes minutes.

    Raises:
        ClusterError, BrokerError: a tool is missing or fails.
    """
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    run([sys.executable, "-m", "hatchling", "build", "--directory", into.absolute()], cwd=ROOT)
    helm = kube_binaries(default_cache()) / "helm"
    run([helm, "package", CHART, "--destination", into])
    for definition in sorted((CHART / "crds").iterdir()):
        shutil.copy(definition, into)
    (into / "install.yaml").write_text("---\n".join(_manifests(helm, image)))
    if images:
        build_images(default_cache(), into)
    files = sorted(path for path in into.iterdir() if path.is_file())
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (into / SUMS).write_text(sums)
    return files


def _manifests(helm: Path, image: str) -> Iterator[str]:
    """Yield the objects that install the operator, as the chart makes them of its defaults."""
    yield _NAMESPACE_MANIFEST
    for definition in sorted((CHART / "crds").iterdir()):
        yield definition.read_text()
    values = ("--set", f"image.repository={image}", "--set", "image.tag=")
    yield run([helm, "template", "streamapp", CHART, "--namespace", NAMESPACE, *values])


def main() -> int:
    """Make a release, and say what is in it."""
    parser = argparse.ArgumentParser(prog="make release", description="Make what a release publishes.")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="the folder; it is emptied first")
    parser.add_argument(
        "--image", default="localhost/streamapp-operator", help="the repository of the operator's image"
    )
    parser.add_argument("--without-images", action="store_true", help="leave the images out")
    options = parser.parse_args()
    try:
        files = make_release(options.into, image=options.image, images=not options.without_images)
    except (ClusterError, BrokerError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for path in files:
        sys.stdout.write(f"{path} ({path.stat().st_size / 1e6:.1f} MB)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
