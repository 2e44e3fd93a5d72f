"""The settings of the Kubernetes operator: flags, and environment variables in place of missing flags."""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from streamapp_core.deployment.pod_policy import PodPolicy
from streamapp_core.deployment.spec_defaults import parse_defaults
from streamapp_operator.observe.label_selector import LabelSelector
from streamapp_operator.observe.namespace_selection import NamespaceSelection
from streamapp_operator.observe.observed_state import AppNetwork

PREFIX = "STREAMAPP_OPERATOR_"


_Value = TypeVar("_Value", str, int, float)


def _setting(default: _Value, text: str) -> _Value:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. Times are in seconds."""

    namespaces: str = _setting("", "The namespaces to watch, separated by commas; none: the whole cluster.")
    namespace_selector: str = _setting(
        "{}", "The labels of the namespaces to watch: a label selector, as JSON; none: as `namespaces` says."
    )
    workers: int = _setting(8, "The number of apps that are reconciled at the same time.")
    http_port: int = _setting(8081, "The port of /healthz and /metrics; 0: a free one.")
    driver_role_kind: str = _setting("ClusterRole", "The kind of the role that drivers get: ClusterRole or Role.")
    driver_role: str = _setting("streamapp-driver", "The name of the role that drivers get.")
    executor_timeout: float = _setting(30.0, "The time that the tasks of a lost executor wait for its replacement.")
    partition_count_debounce: float = _setting(
        10.0, "The time that a changed partition count must be stable before it is used."
    )
    isolate_apps: str = _setting("true", "Whether apps get NetworkPolicies: true or false.")
    app_pages_from: str = _setting("[]", "The clients of drivers' pages: peers of a NetworkPolicy, as JSON; none: all.")
    allowed: str = _setting(
        json.dumps(PodPolicy().model_dump(mode="json", by_alias=True), sort_keys=True, separators=(",", ":")),
        "What the pods of new and edited apps may use: a policy, as JSON.",
    )
    defaults: str = _setting("{}", "The defaults below the specs of all apps: a part of a spec, as JSON.")
    lease_namespace: str = _setting(
        "", "The namespace of the Lease by which one of several operators is elected; none: this one always acts."
    )
    lease_name: str = _setting("streamapp-operator", "The name of that Lease.")
    lease_identity: str = _setting(
        "", "The name of this operator among them, which none has that may still run: its pod's; none: a random one."
    )
    webhook_host: str = _setting("", "The host name of the validating webhook; none: there is no webhook.")
    webhook_port: int = _setting(8443, "The port of the validating webhook.")
    webhook_configuration: str = _setting(
        "streamapp-operator", "The ValidatingWebhookConfiguration that gets the certificate which the operator makes."
    )
    webhook_certificate: str = _setting(
        "", "The folder of the webhook's tls.crt and tls.key, which others renew; none: the operator makes its own."
    )
    resync_interval: float = _setting(300.0, "The time between two resyncs of the cache with the API server.")
    log_level: str = _setting("INFO", "The lowest level that is logged.")
    exit_after: str = _setting(
        "", "For tests: the process kills itself after this kind of action (`decide.actions.ActionKind`)."
    )

    @property
    def namespace_selection(self) -> NamespaceSelection:
        """The namespaces whose apps are run.

        Raises:
            ValueError: the selector is none, or there are names, too.
        """
        names = tuple(name.strip() for name in self.namespaces.split(",") if name.strip())
        selector = LabelSelector.model_validate_json(self.namespace_selector).text
        if names and selector:
            raise ValueError(
                f"the namespaces {', '.join(names)} are named, and others are selected by `{selector}`: "
                "leave out one of --namespaces and --namespace-selector"
            )
        return NamespaceSelection(names, selector)

    @property
    def app_network(self) -> AppNetwork:
        """Who may reach the pods of apps.

        Raises:
            ValueError: the setting is no JSON.
        """
        peers = json.loads(self.app_pages_from)
        return AppNetwork(isolated=self.isolate_apps == "true", pages_from=tuple(peers))

    @property
    def pod_policy(self) -> PodPolicy:
        """The policy for the pods of new and edited apps.

        Raises:
            ValueError: the setting is no policy.
        """
        return PodPolicy.model_validate_json(self.allowed)

    @property
    def app_defaults(self) -> Mapping[str, Any]:
        """The defaults below the specs of all apps.

        Raises:
            ValueError: the setting is no part of a spec, or of one that can't have defaults.
        """
        return parse_defaults(json.loads(self.defaults))


def read_settings(arguments: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Read the settings; a flag `--http-port` wins over the variable `STREAMAPP_OPERATOR_HTTP_PORT`.

    Raises:
        SystemExit: an argument is wrong, or help was asked for.
    """
    parser = argparse.ArgumentParser(prog="streamapp_operator", description="The Kubernetes operator of StreamApps.")
    for setting in fields(Settings):
        assert setting.default is not MISSING
        default = environment.get(PREFIX + setting.name.upper(), setting.default)
        flag = "--" + setting.name.replace("_", "-")
        parser.add_argument(flag, default=default, type=type(setting.default), help=setting.metadata["help"])
    return Settings(**vars(parser.parse_args(arguments)))
