"""Writes `go.mod` of `tools/kubebox`: everything at the versions that Kubernetes itself is built with.

Kubernetes, coredns, kind, helm and the provisioner share one module, so they share one build cache and one set of
dependencies. Kubernetes leads: every module that its `go.mod` names is held at that version, whatever the others ask
for. Its staging modules, which it takes from its own tree, are published as v0.X.Y for its v1.X.Y.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tools.cluster.versions import KUBERNETES, VERSIONS

KUBEBOX = Path(__file__).parent.parent / "kubebox"
_FREE = {"github.com/coredns/caddy"}  # coredns needs a newer one than Kubernetes
_TOOLS = [
    "github.com/rancher/local-path-provisioner",
    "helm.sh/helm/v3/cmd/helm",
    "sigs.k8s.io/kind",
]


def go_mod(kubernetes: dict[str, Any], modules: dict[str, str]) -> str:
    """Write `go.mod` from Kubernetes' own (as `go mod edit -json` prints it) and the modules asked for."""
    staging_version = "v0." + modules[KUBERNETES].removeprefix("v1.")
    required = {entry["Path"]: entry["Version"] for entry in kubernetes["Require"]}
    staging = {entry["Old"]["Path"] for entry in kubernetes["Replace"] if entry["New"]["Path"].startswith("./")}
    held = {
        path: staging_version if path in staging else version for path, version in required.items() if path not in _FREE
    }
    lines = ["module kubebox", "", f"go {kubernetes['Go']}", "", "godebug default=go1.24", "", "tool ("]
    lines += [f"\t{path}" for path in _TOOLS]
    lines += [")", "", "require ("]
    lines += [f"\t{path} {version}" for path, version in sorted({**held, **modules}.items())]
    lines += [")", "", "replace ("]
    lines += [f"\t{path} => {path} {version}" for path, version in sorted(held.items())]
    lines += [")", ""]
    return "\n".join(lines)


def _go(*arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - go, with arguments of ours
        ["go", *arguments],  # noqa: S607
        cwd=KUBEBOX,
        env={**os.environ, "GOFLAGS": "-mod=mod"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def main() -> None:
    """Rewrite `go.mod` and `go.sum`; needs the network."""
    (KUBEBOX / "go.mod").write_text("module kubebox\n")
    module = json.loads(_go("mod", "download", "-json", f"{KUBERNETES}@{VERSIONS.modules[KUBERNETES]}"))
    kubernetes = json.loads(_go("mod", "edit", "-json", module["GoMod"]))
    (KUBEBOX / "go.mod").write_text(go_mod(kubernetes, VERSIONS.modules))
    _go("mod", "tidy")


if __name__ == "__main__":
    main()
