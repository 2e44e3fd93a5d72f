"""Makes StreamApp's images, and gives them to the cluster that `make cluster` made: `python -m tools.images`."""

import argparse
import sys
from pathlib import Path

from tools.cluster.__main__ import NAME
from tools.cluster.cached import default_cache
from tools.cluster.errors import ClusterError
from tools.cluster.lifecycle import running
from tools.images.build import build_images
from tools.kafka.jars import BrokerError


def main() -> int:
    """Make the images, say what they are."""
    parser = argparse.ArgumentParser(prog="make images", description="Make the operator's and the runtime's image.")
    parser.add_argument("--into", type=Path, default=Path("build/images"), help="the folder that gets the archive")
    parser.add_argument("--cluster", default=NAME, help=f"the cluster that gets them if it runs (default: {NAME})")
    parser.add_argument("--self-made", action="store_true", help="from Debian packages even if a registry is there")
    options = parser.parse_args()
    try:
        _make(options.into, options.cluster, self_made=options.self_made)
    except (ClusterError, BrokerError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _make(into: Path, name: str, *, self_made: bool) -> None:
    cache = default_cache()
    cluster = running(cache, name)
    baked = bool(cluster and cluster.engine and cluster.engine.own_store)
    images = build_images(cache, into, baked=baked, self_made=self_made)
    size = images.archive.stat().st_size / 1e6
    above = "" if images.complete else ", above the base that the nodes have"
    sys.stdout.write(f"{images.archive} ({size:.0f} MB{above}), {images.made}:\n")
    for image in images.names:
        unpacked = f", {images.sizes[image] / 1e6:.0f} MB unpacked" if image in images.sizes else ""
        sys.stdout.write(f"  {image}{unpacked}\n")
    if cluster:
        cluster.load_image(images.archive)
        sys.stdout.write(f"Cluster {name} has them.\n")


if __name__ == "__main__":
    sys.exit(main())
