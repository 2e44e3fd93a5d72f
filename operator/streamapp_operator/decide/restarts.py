"""Restarts of drivers that died: at once, then after a backoff that grows, with jitter, up to a maximum.

The kubelet restarts containers in the same way (docs/operator.md).
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamapp_core.deployment.app_record import Launch
from streamapp_core.spec.processors import RestartPolicy
from streamapp_operator.observe.resource_views import Pod

_JITTER = 0.2
CRASH_LOOP = 3
"""The number of deaths in a row from which on they are called a crash loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverDeath:
    """The unintended end of a driver, and when it is restarted.

    `attempt` counts the deaths in a row up to this one. `restart_at` is None if the restarts are used up.
    """

    at: datetime
    message: str
    attempt: int
    restart_at: datetime | None


def assess_disruption(launch: Launch, pod: Pod | None, missing_since: datetime, policy: RestartPolicy) -> DriverDeath:
    """Return when a driver that Kubernetes ended may be restarted: at once, as that is no failure of its own.

    Only one that was evicted as soon as it was launched waits for the shortest backoff.
    """
    at = _ended_at(pod, missing_since)
    soonest = launch.at + timedelta(milliseconds=policy.backoff)
    return DriverDeath(at=at, message=_message(launch, pod), attempt=launch.attempt, restart_at=max(at, soonest))


def assess_death(
    launch: Launch, pod: Pod | None, missing_since: datetime, policy: RestartPolicy, uid: str
) -> DriverDeath:
    """Return when and why the driver of a launch died, and when it may be restarted.

    Args:
        launch: the launch that ended.
        pod: its pod; None if somebody removed it.
        missing_since: when it was first noticed that there is no pod.
        policy: the backoff, and how many restarts there may be.
        uid: the app's; the jitter follows from it, so that deciding again gives the same time.
    """
    at = _ended_at(pod, missing_since)
    began = launch.at if pod is None else (pod.started_at or launch.at)
    attempt = 1 if at - began >= timedelta(milliseconds=policy.reset_after) else launch.attempt + 1
    backoff = _backoff(policy, attempt, f"{uid}/{launch.epoch}")
    restart_at = max(at, launch.at + backoff) if attempt == 1 else at + backoff
    used_up = policy.max_restarts is not None and attempt > policy.max_restarts
    return DriverDeath(
        at=at, message=_message(launch, pod), attempt=attempt, restart_at=None if used_up else restart_at
    )


def _ended_at(pod: Pod | None, missing_since: datetime) -> datetime:
    return missing_since if pod is None else (pod.finished_at or missing_since)


def _backoff(policy: RestartPolicy, attempt: int, seed: str) -> timedelta:
    """Return the backoff: `factor` times longer each time up to `max`, a fifth less or more as the seed says."""
    longest = policy.max
    wait = policy.backoff
    for _ in range(attempt - 1):
        wait = min(wait * policy.factor, longest)
        if wait == longest or policy.factor == 1:
            break
    fraction = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4]) / 2**32
    return timedelta(milliseconds=min(wait, longest) * (1 - _JITTER + 2 * _JITTER * fraction))


def _message(launch: Launch, pod: Pod | None) -> str:
    if pod is None:
        return f"the driver's pod of epoch {launch.epoch} is gone"
    why = f": {pod.message}" if pod.message else ""
    code = "" if pod.exit_code is None else f" with exit code {pod.exit_code}"
    return f"driver {pod.name} ended{code}{why}"
