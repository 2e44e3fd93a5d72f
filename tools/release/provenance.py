"""The provenance of a release: what was made of which sources, by whom and when (SLSA 1, as an in-toto statement)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

BUILD_TYPE = "https://streamapp.dev/make-release/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A run of `make release`: its source (a commit, the digests of the files that pin all else), and who ran it."""

    commit: str
    pins: Mapping[str, str]
    parameters: Mapping[str, str]
    builder: str
    started: datetime
    finished: datetime


def write_statement(build: Build, subjects: Mapping[str, str]) -> dict[str, Any]:
    """Return the statement on files, which are given with their SHA-256 by name."""
    dependencies = [{"uri": "git+local", "digest": {"gitCommit": build.commit}}]
    dependencies += [
        {"uri": f"git+local#{name}", "digest": {"sha256": pin}} for name, pin in sorted(build.pins.items())
    ]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(subjects.items())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": dict(build.parameters),
                "resolvedDependencies": dependencies,
            },
            "runDetails": {
                "builder": {"id": build.builder},
                "metadata": {
                    "startedOn": build.started.isoformat(timespec="seconds"),
                    "finishedOn": build.finished.isoformat(timespec="seconds"),
                },
            },
        },
    }
