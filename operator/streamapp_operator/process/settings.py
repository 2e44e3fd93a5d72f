"""Settings of the process: flags, and environment variables for those that are not given."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import TypeVar

PREFIX = "STREAMAPP_OPERATOR_"


_Value = TypeVar("_Value", str, int, float)


def _setting(default: _Value, text: str) -> _Value:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be set. Times are in seconds."""

    namespaces: str = _setting("", "The namespaces that are watched, by comma; none: the whole cluster.")
    workers: int = _setting(8, "How many apps are reconciled at the same time.")
    http_port: int = _setting(8081, "The port of /healthz and /metrics; 0: a free one.")
    driver_role_kind: str = _setting("ClusterRole", "The kind of the role that drivers get: ClusterRole or Role.")
    driver_role: str = _setting("streamapp-driver", "The name of the role that drivers get.")
    executor_patience: float = _setting(
        30.0, "How long the tasks of a lost executor wait for another one in its place."
    )
    growth_settle: float = _setting(10.0, "How long a stream's partition count is unchanged before it is planned with.")
    resync_interval: float = _setting(300.0, "How often the caches are compared with the API server.")
    log_level: str = _setting("INFO", "The least severe messages that are logged.")
    exit_after: str = _setting(
        "", "For tests: the process kills itself after this kind of action (`decide.actions.ActionKind`)."
    )

    @property
    def watched_namespaces(self) -> tuple[str, ...]:
        """The namespaces by name; none: the whole cluster."""
        return tuple(name.strip() for name in self.namespaces.split(",") if name.strip())


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
