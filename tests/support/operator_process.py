"""The Kubernetes operator as a process of its own, with the rights it needs and no others."""

import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

from tools.companion import Companion

from support.chart import DRIVER_RULES
from support.waiting import eventually

ROOT = Path(__file__).parents[2]
HOME = "streamapp-system"
USER = f"system:serviceaccount:{HOME}:operator"
RULES = [
    {"apiGroups": ["streamapp.dev"], "resources": ["streamapps"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": ["streamapp.dev"], "resources": ["streamapps/status"], "verbs": ["patch"]},
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
    },
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "create", "delete"]},
    {
        "apiGroups": [""],
        "resources": ["services", "serviceaccounts"],
        "verbs": ["get", "list", "watch", "create"],
    },
    {
        "apiGroups": ["networking.k8s.io"],
        "resources": ["networkpolicies"],
        "verbs": ["get", "list", "watch", "create", "update"],
    },
    {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["rolebindings"],
        "verbs": ["get", "list", "watch", "create", "update", "delete"],
    },
    {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["clusterroles"],
        "resourceNames": ["streamapp-driver"],
        "verbs": ["bind"],
    },
    {"apiGroups": [""], "resources": ["events"], "verbs": ["list", "create"]},
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["list", "delete"]},
]
"""All that the Kubernetes operator is allowed to do."""


def access_manifests():
    """Return the operator's account and the roles, as a list for kubectl."""

    def role(name, rules):
        return rbac("ClusterRole", {"name": name}, rules=rules)

    def rbac(kind, metadata, **fields):
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata, **fields}

    account = {"kind": "ServiceAccount", "name": "operator", "namespace": HOME}
    items = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "operator", "namespace": HOME}},
        role("streamapp-operator", RULES),
        role("streamapp-driver", DRIVER_RULES),
        rbac(
            "ClusterRoleBinding",
            {"name": "streamapp-operator"},
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "streamapp-operator"},
            subjects=[account],
        ),
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


class OperatorProcess:
    """The process of an operator, which can be killed and started again. `settings` are flags without dashes."""

    def __init__(self, kubeconfig, log, **settings):
        self._kubeconfig = kubeconfig
        self._log = log
        self._settings = settings
        self._process = None
        self._told = 0

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()

    def start(self, **more):
        """Start it, and wait until it is healthy; `more` are settings for this start only."""
        settings = {**self._settings, **more, "http_port": 0}
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        command = [sys.executable, "-m", "streamapp_operator", *flags]
        self._told = len(self.output())
        self._process = Companion(["/usr/bin/env", f"KUBECONFIG={self._kubeconfig}", *command], self._log)
        if not eventually(lambda: self.healthy() or self.ended()) or self.ended():
            self.kill()
            raise AssertionError(self.output())
        return self

    def kill(self):
        """Kill it, as the kernel would."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def terminate(self):
        """Have it end in order."""
        self._process.terminate()

    def paused(self):
        """Suspend it for a while."""
        return self._process.paused()

    def ended(self):
        """Return whether it has ended by itself."""
        return self._process.ended

    def healthy(self):
        try:
            return self.port() is not None and self.page("healthz") == "ok"
        except (OSError, urllib.error.URLError):
            return False

    def port(self):
        """Return its port, as its log says; None as long as it has none."""
        whole, _, _ = self.output()[self._told :].rpartition("\n")
        said = [line for line in whole.splitlines() if '"port"' in line]
        return json.loads(said[0])["port"] if said else None

    def page(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port()}/{name}", timeout=30) as answer:
            return answer.read().decode()

    def metric(self, name):
        """Read one of its metrics that has no labels."""
        return next(float(line.split()[1]) for line in self.page("metrics").splitlines() if line.startswith(f"{name} "))

    def output(self):
        return self._log.read_text() if self._log.exists() else ""
