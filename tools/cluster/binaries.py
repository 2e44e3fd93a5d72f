"""Kubernetes and its tools as programs, built from Go modules: no download page, no image registry is needed.

`kubebox` is the API server, etcd, kubelet, kubectl and the rest in one file, with a link for each name; `kind`, `helm`,
`coredns` and `local-path-provisioner` come out of the same Go module.
"""

import shutil
import time
from pathlib import Path

from tools.cluster.cached import kept, key_of
from tools.cluster.errors import ClusterError
from tools.cluster.modules import KUBEBOX
from tools.cluster.process import run, say, started
from tools.cluster.versions import VERSIONS

LINKS = (
    "etcd",
    "kindnetd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubeadm",
    "kubectl",
    "kubelet",
    "pause",
)
"""The programs that `kubebox` is."""

KIND_FILES = "kind-files"
"""The folder of what kind's own node image is made of, at the version of the kind that is built."""

_KIND = "sigs.k8s.io/kind"
_PACKAGES = (
    "./cmd/kubebox",
    "./cmd/coredns",
    _KIND,
    "helm.sh/helm/v3/cmd/helm",
    "github.com/rancher/local-path-provisioner",
)
_ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off"}
_BUILD_DATE = "1970-01-01T00:00:00Z"
_PROGRESS_SECONDS = 15


def kube_binaries(cache: Path) -> Path:
    """Return the folder of the programs (`LINKS`, kind, helm, coredns, local-path-provisioner), built if missing.

    Raises:
        ClusterError: there is no Go, or the build failed.
    """
    version = go_version()
    flags = _linker_flags(VERSIONS.kubernetes, VERSIONS.modules["helm.sh/helm/v3"])
    sources = [path for path in KUBEBOX.rglob("*") if path.suffix in {".go", ".mod", ".sum"}]
    key = key_of(sources, version, flags, " ".join((*_PACKAGES, *LINKS, KIND_FILES)))
    return kept(cache, f"kubebox-{key}", lambda work: _build(work, flags), what="building Kubernetes, about 7 minutes")


def go_version() -> str:
    """Return the version of the Go that programs are built with.

    Raises:
        ClusterError: there is none.
    """
    if not shutil.which("go"):
        raise ClusterError("Kubernetes is built from Go modules: install Go 1.24 or newer, and put it on the PATH")
    return run(["go", "env", "GOVERSION"])


def _linker_flags(kubernetes: str, helm: str) -> str:
    """Return the flags that give the programs their versions: kubeadm's checks and `helm template` read them."""
    major, minor, _ = kubernetes.removeprefix("v").split(".")
    facts = {
        "gitVersion": kubernetes,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "buildDate": _BUILD_DATE,
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    values = {f"{package}.{name}": value for package in packages for name, value in facts.items()}
    values["helm.sh/helm/v3/internal/version.version"] = helm
    for package in ("helm.sh/helm/v3/pkg/chartutil", "helm.sh/helm/v3/pkg/lint/rules"):
        values |= {f"{package}.k8sVersionMajor": major, f"{package}.k8sVersionMinor": minor}
    return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in values.items())])


def _build(work: Path, flags: str) -> None:
    say("   downloading the modules")
    run(["go", "mod", "download"], cwd=KUBEBOX, env=_ENVIRONMENT)
    for package in _PACKAGES:
        build_program(package, work / package.rpartition("/")[2], flags, KUBEBOX)
    for name in LINKS:
        (work / name).symlink_to("kubebox")
    kind = run(["go", "list", "-m", "-f", "{{.Dir}}", _KIND], cwd=KUBEBOX, env=_ENVIRONMENT)
    shutil.copytree(Path(kind.strip()) / "images/base/files", work / KIND_FILES, copy_function=shutil.copyfile)


def build_program(package: str, target: Path, flags: str, module: Path) -> None:
    """Build one program of a Go module, and show the progress: `go` names every package it compiles.

    Raises:
        ClusterError: the build failed.
    """
    start = time.monotonic()
    command = ["go", "build", "-v", "-trimpath", "-ldflags", flags, "-o", str(target), package]
    compiled, shown, output = 0, start, ""
    with started(command, env=_ENVIRONMENT, cwd=module) as process:
        assert process.stderr is not None
        for line in process.stderr:
            compiled += 1
            output = (output + line)[-4000:]
            if time.monotonic() - shown > _PROGRESS_SECONDS:
                shown = time.monotonic()
                say(f"   {target.name}: {compiled} packages compiled, {shown - start:.0f} s")
    if process.returncode:
        raise ClusterError(f"{package} could not be built:\n{output}")
    say(f"   {target.name}: {time.monotonic() - start:.0f} s")
