"""The policy of an administrator for the pods of apps: what of a node or a namespace they may use.

A spec is judged by it when it is new or edited. What was accepted before stays as it is: a stricter policy stops no
app.
"""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from streamapp_core.deployment.kubernetes_names import driver_account
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.base import SpecModel, Text

_DEFAULT_ACCOUNT = "default"
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


class PodPolicy(SpecModel):
    """All that pods of apps may use. The volume types of the default are those of Kubernetes' restricted pods.

    Service accounts are patterns (`team-*`), besides the app's own. A host path allows what is below it, too.
    """

    service_accounts: tuple[Text, ...] = ()
    volume_types: tuple[Text, ...] = (
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    )
    host_paths: tuple[Text, ...] = ("/var/lib/streamapp",)
    capabilities: tuple[Text, ...] = ("NET_BIND_SERVICE",)
    privileged: bool = False
    host_network: bool = False
    host_processes: bool = False


def find_forbidden(app: StreamApp, policy: PodPolicy) -> tuple[Problem, ...]:
    """Return a problem for each part of a spec that asks for what the policy does not allow."""
    return tuple(_find(app, policy))


def _find(app: StreamApp, policy: PodPolicy) -> Iterator[Problem]:
    spec = app.spec
    account = spec.service_account_name
    if account is not None and account != driver_account(app.metadata.name) and not _may_be(account, policy):
        yield _account_problem("spec.serviceAccountName", account)
    folder = spec.processors.state.host_path
    if folder is not None and not _is_allowed_path(folder, policy):
        yield _path_problem("spec.processors.state.hostPath", folder, policy)
    for path, template in (
        ("spec.driver.template.spec", spec.driver.template),
        ("spec.processors.template.spec", spec.processors.template),
    ):
        pod = template.get("spec")
        if isinstance(pod, Mapping):
            yield from _check_pod(path, pod, policy)


def _check_pod(path: str, pod: Mapping[str, Any], policy: PodPolicy) -> Iterator[Problem]:
    for name in ("serviceAccountName", "serviceAccount"):
        account = pod.get(name)
        if isinstance(account, str) and account not in ("", _DEFAULT_ACCOUNT) and not _may_be(account, policy):
            yield _account_problem(f"{path}.{name}", account)
    if pod.get("hostNetwork") and not policy.host_network:
        yield _problem(f"{path}.hostNetwork", "the network of the node", "hostNetwork")
    for name in ("hostPID", "hostIPC"):
        if pod.get(name) and not policy.host_processes:
            yield _problem(f"{path}.{name}", "the processes of the node", "hostProcesses")
    yield from _check_security(f"{path}.securityContext", _map(pod, "securityContext"), policy)
    for number, volume in _entries(pod, "volumes"):
        yield from _check_volume(f"{path}.volumes[{number}]", volume, policy)
    for kind in _CONTAINERS:
        for number, container in _entries(pod, kind):
            yield from _check_container(f"{path}.{kind}[{number}]", container, policy)


def _check_volume(path: str, volume: Mapping[str, Any], policy: PodPolicy) -> Iterator[Problem]:
    for kind, source in volume.items():
        if kind == "name" or source is None:
            continue
        if kind == "hostPath":
            folder = source.get("path") if isinstance(source, Mapping) else None
            if not isinstance(folder, str) or not _is_allowed_path(folder, policy):
                yield _path_problem(f"{path}.hostPath", folder, policy)
        elif kind not in policy.volume_types:
            allowed = ", ".join(policy.volume_types) or "none"
            yield _problem(f"{path}.{kind}", f"volumes of type {kind}, but only {allowed}", "volumeTypes")


def _check_container(path: str, container: Mapping[str, Any], policy: PodPolicy) -> Iterator[Problem]:
    security = _map(container, "securityContext")
    yield from _check_security(f"{path}.securityContext", security, policy)
    added = _map(security, "capabilities").get("add")
    for capability in added if isinstance(added, Sequence) and not isinstance(added, str) else ():
        if not {str(capability).upper().removeprefix("CAP_"), "ALL"} & set(policy.capabilities):
            allowed = ", ".join(policy.capabilities) or "none"
            yield _problem(
                f"{path}.securityContext.capabilities.add",
                f"the capability {capability}, but only: {allowed}",
                "capabilities",
            )
    for number, port in _entries(container, "ports"):
        if port.get("hostPort") and not policy.host_network:
            yield _problem(f"{path}.ports[{number}].hostPort", "ports of the node", "hostNetwork")


def _check_security(path: str, security: Mapping[str, Any], policy: PodPolicy) -> Iterator[Problem]:
    """Find what makes a container one without walls, under each of its names."""
    if policy.privileged:
        return
    if security.get("privileged"):
        yield _problem(f"{path}.privileged", "privileged containers", "privileged")
    if security.get("procMount") not in (None, "Default"):
        yield _problem(f"{path}.procMount", "the whole of /proc", "privileged")
    if _map(security, "windowsOptions").get("hostProcess"):
        yield _problem(f"{path}.windowsOptions.hostProcess", "processes of the node", "privileged")


def _may_be(account: str, policy: PodPolicy) -> bool:
    return any(fnmatchcase(account, pattern) for pattern in policy.service_accounts)


def _is_allowed_path(folder: str, policy: PodPolicy) -> bool:
    path, allowed = _steps(folder), [_steps(one) for one in policy.host_paths]
    return folder.startswith("/") and ".." not in path and any(path[: len(one)] == one for one in allowed)


def _steps(path: str) -> list[str]:
    return [step for step in path.split("/") if step not in ("", ".")]


def _entries(parent: Mapping[str, Any], name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the entries of a list that are maps; Kubernetes refuses all others."""
    found = parent.get(name)
    for number, entry in enumerate(found if isinstance(found, list | tuple) else ()):
        if isinstance(entry, Mapping):
            yield number, entry


def _map(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = parent.get(name)
    return found if isinstance(found, Mapping) else {}


def _account_problem(path: str, account: str) -> Problem:
    return _problem(path, f"the service account {account}", "serviceAccounts")


def _path_problem(path: str, folder: object, policy: PodPolicy) -> Problem:
    allowed = ", ".join(policy.host_paths) or "none"
    return _problem(path, f"the node's folder {folder}, but only those in: {allowed}", "hostPaths")


def _problem(path: str, what: str, value: str) -> Problem:
    return Problem(
        path=path,
        code=ProblemCode.NOT_ALLOWED,
        message=f"apps of this cluster may not use {what}. An administrator can allow it: `allowed.{value}` in the "
        "values of StreamApp's chart",
    )
