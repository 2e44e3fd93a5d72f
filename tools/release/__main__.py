"""The command `make release`."""

import argparse
import os
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import uuid4

from tools.cluster.errors import ClusterError
from tools.kafka.jars import BrokerError
from tools.release.artefacts import ROOT, ReleaseRequest, make_release
from tools.release.python_packages import find_packages
from tools.release.signatures import read_key

KEY_VARIABLE = "RELEASE_KEY"


def main() -> int:
    """Make a release, and say what is in it."""
    parser = argparse.ArgumentParser(prog="make release", description="Make what a release publishes.")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="the folder; it is emptied first")
    parser.add_argument(
        "--image", default="localhost/streamapp-operator", help="the repository of the operator's image"
    )
    parser.add_argument("--digest", default="", help="the digest of that image (sha256:...), to be pulled by")
    parser.add_argument("--without-images", action="store_true", help="leave the images out")
    parser.add_argument("--builder", default="https://streamapp.dev/builders/local", help="who makes it, as a URI")
    parser.add_argument(
        "--key", type=Path, help=f"a file with the Ed25519 key to sign with; its text may be in {KEY_VARIABLE} instead"
    )
    options = parser.parse_args()
    try:
        pem = options.key.read_bytes() if options.key else os.environ.get(KEY_VARIABLE, "").encode()
        request = ReleaseRequest(
            image=options.image,
            digest=options.digest,
            images=not options.without_images,
            builder=options.builder,
            serial=uuid4(),
            key=read_key(pem) if pem else None,
        )
        packages = partial(find_packages, ROOT / "constraints.txt")
        files = make_release(options.into, request, packages, lambda: datetime.now(UTC))
    except (ClusterError, BrokerError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for path in files:
        sys.stdout.write(f"{path} ({path.stat().st_size / 1e6:.1f} MB)\n")
    if request.key is None:
        sys.stderr.write(f"not signed: no --key, and nothing in {KEY_VARIABLE}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
