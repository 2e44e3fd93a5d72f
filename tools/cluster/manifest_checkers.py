"""kubeconform and kube-score, which look for faults in manifests, built from Go modules as Kubernetes is.

They are a module of their own (`tools/manifest_checkers`), as Kubernetes would hold what they need at its own versions.
"""

from pathlib import Path

from tools.cluster.binaries import build_program, go_version
from tools.cluster.cached import kept, key_of
from tools.cluster.process import run, say

_MODULE = Path(__file__).parent.parent / "manifest_checkers"
_PACKAGES = ("github.com/yannh/kubeconform/cmd/kubeconform", "github.com/zegl/kube-score/cmd/kube-score")


def manifest_checkers(cache: Path) -> Path:
    """Return the folder of the programs, built if missing.

    Raises:
        ClusterError: there is no Go, or the build failed.
    """
    key = key_of(sorted(_MODULE.iterdir()), go_version(), " ".join(_PACKAGES))
    return kept(cache, f"checkers-go-{key}", _build, what="building kubeconform and kube-score, about 2 minutes")


def _build(work: Path) -> None:
    say("   downloading the modules")
    run(["go", "mod", "download"], cwd=_MODULE)
    for package in _PACKAGES:
        build_program(package, work / package.rpartition("/")[2], "-s -w", _MODULE)
