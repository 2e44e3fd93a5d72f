"""The cluster from the shell: `python -m tools.cluster up | down | load ARCHIVE | prepare | binaries | check`."""

import argparse
import sys
from pathlib import Path

from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import default_cache
from tools.cluster.check import missing
from tools.cluster.errors import ClusterError
from tools.cluster.lifecycle import down, up
from tools.cluster.manifest_checkers import manifest_checkers
from tools.cluster.ways import choose_way

NAME = "streamapp"


def main() -> int:
    """Run one command; what scripts may want goes to standard output, the rest to standard error."""
    parser = argparse.ArgumentParser(prog="python -m tools.cluster", description="Kubernetes on this machine.")
    parser.add_argument("command", choices=["up", "down", "load", "prepare", "binaries", "check"])
    parser.add_argument("archive", nargs="?", type=Path, help="of images, for load")
    parser.add_argument("--name", default=NAME, help=f"of the cluster (default: {NAME})")
    options = parser.parse_args()
    try:
        return _run(options.command, options.name, options.archive)
    except ClusterError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _run(command: str, name: str, archive: Path | None) -> int:
    cache = default_cache()
    match command:
        case "up":
            cluster = up(cache, name)
            sys.stdout.write(f"export KUBECONFIG={cluster.kubeconfig}\nexport PATH={cluster.programs}:$PATH\n")
        case "down":
            down(cache, name)
        case "load" if archive:
            up(cache, name).load_image(archive)
        case "prepare":
            kube_binaries(cache)
            choose_way(cache)
        case "binaries":
            sys.stdout.write(f"{kube_binaries(cache)}\n{manifest_checkers(cache)}\n")
        case "check":
            lacking = missing()
            sys.stdout.write("".join(f"{item}\n" for item in lacking))
            return 1 if lacking else 0
        case _:
            raise ClusterError("load needs the archive of images")
    return 0


if __name__ == "__main__":
    sys.exit(main())
