"""The Helm chart: rendered, refused and installed."""

import json
from dataclasses import dataclass
from pathlib import Path

import yaml
from tools.cluster.process import attempt, run

CHART = Path(__file__).parents[2] / "charts" / "streamapp"
HOME = "home"
"""The namespace of the release, where nothing else is said."""
DRIVER = {
    ("", "pods"): "get list watch create delete deletecollection",
    ("", "configmaps"): "get create update deletecollection",
    ("", "secrets"): "create",
    ("", "persistentvolumeclaims"): "list create deletecollection",
    ("coordination.k8s.io", "leases"): "create patch",
    ("streamapp.dev", "drivers"): "run",
}
DRIVER_RULES = [
    {"apiGroups": [group], "resources": [resource], "verbs": verbs.split()}
    for (group, resource), verbs in DRIVER.items()
]
DRIVER_RIGHTS = {(group, resource, "", verb) for (group, resource), verbs in DRIVER.items() for verb in verbs.split()}
"""All that a driver and the Spark in it do, as `rights` gives it."""
VARIABLE = "STREAMAPP_OPERATOR_"
LEASES = ("coordination.k8s.io", "leases")
_WHOLE = {"resources.requests", "resources.limits"}


@dataclass(frozen=True, slots=True)
class Rendered:
    """The objects that the chart makes of values."""

    objects: list

    def all(self, kind):
        return [item for item in self.objects if item["kind"] == kind]

    def one(self, kind, name=None):
        """Find an object by its kind, and its name if there are several; None if there is none."""
        found = [item for item in self.all(kind) if name in (None, item["metadata"]["name"])]
        assert len(found) <= 1, [item["metadata"]["name"] for item in found]
        return found[0] if found else None

    def kinds(self):
        return {item["kind"] for item in self.objects}

    @property
    def pod(self):
        return self.one("Deployment")["spec"]["template"]

    @property
    def container(self):
        (container,) = self.pod["spec"]["containers"]
        return container

    @property
    def environment(self):
        return {item["name"]: item.get("value", "") for item in self.container["env"]}


class Chart:
    """Helm at work on the chart; with the environment of a cluster, there. Values are maps, as in a values file."""

    def __init__(self, programs, environment=None):
        self._helm = [programs / "helm"]
        self._kubectl = programs / "kubectl"
        self._environment = environment or {}

    def render(self, values=None, *, release="streamapp", namespace=HOME):
        text = self.write(values, release=release, namespace=namespace)
        return Rendered([item for item in yaml.safe_load_all(text) if item])

    def write(self, values=None, *, release="streamapp", namespace=HOME):
        """Return the manifests as Helm writes them."""
        return self._run("template", release, CHART, "--namespace", namespace, values=values)

    def refusal(self, values):
        """Return why values are refused; empty if they are not."""
        command = [*self._helm, "template", "streamapp", CHART, "--values=-"]
        done = attempt(command, env=self._environment, text=json.dumps(values))
        return done.stderr if done.returncode else ""

    def lint(self, values=None):
        return self._run("lint", CHART, "--strict", values=values)

    def install(self, release, namespace, values=None):
        """Install the chart, or bring its release up to date, and give Helm's notes."""
        place = ("--namespace", namespace, "--create-namespace")
        return self._run("upgrade", "--install", release, CHART, *place, values=values)

    def test(self, release, namespace):
        """Run the chart's own test of a release, and give Helm's answer."""
        return run([*self._helm, "test", release, "--namespace", namespace], env=self._environment)

    def uninstall(self, release, namespace):
        """Remove a release, and the policy that it leaves: it would confine the drivers of the next one, too."""
        run([*self._helm, "uninstall", release, "--namespace", namespace, "--wait"], env=self._environment)
        kinds = "validatingadmissionpolicies,validatingadmissionpolicybindings"
        of_release = f"--selector=app.kubernetes.io/instance={release}"
        run([self._kubectl, "delete", kinds, of_release, "--ignore-not-found", "--wait"], env=self._environment)

    def definitions(self):
        """Return the CustomResourceDefinition as `helm show crds` prints it."""
        return run([*self._helm, "show", "crds", CHART])

    def package(self, folder):
        run([*self._helm, "package", CHART, "--destination", folder])
        (archive,) = folder.glob("*.tgz")
        return archive

    def _run(self, *arguments, values):
        return run([*self._helm, *arguments, "--values=-"], env=self._environment, text=json.dumps(values or {}))


def operator_rules(rendered):
    role = rendered.one("ClusterRole", "streamapp-operator") or rendered.all("Role")[0]
    return rights(role["rules"])


def monitor(rendered):
    return rendered.one("ServiceMonitor", "streamapp-operator")


def defaults():
    """Read the values as they are if nothing is said."""
    return yaml.safe_load((CHART / "values.yaml").read_text())


def leaves(values, path=()):
    """Name all values with their defaults; what Kubernetes itself defines is one value."""
    for name, value in values.items():
        place = ".".join((*path, name))
        if isinstance(value, dict) and value and place not in _WHOLE:
            yield from leaves(value, (*path, name))
        else:
            yield place, value


def lease_rights(operator):
    """Return what the operators of a release may do with their lease, as `rights` gives it."""
    return {(*LEASES, "", "create"), (*LEASES, operator, "get"), (*LEASES, operator, "update")}


def rights(rules):
    """Take rules apart: every single thing that they allow."""
    return {
        (group, resource, name, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or [""]
        for verb in rule["verbs"]
    }
