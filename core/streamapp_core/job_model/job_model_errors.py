"""Errors of stored job models."""

_WAY_OUT = "Restore it from a backup, or set a new `spec.runId` to start from nothing"


class JobModelUnreadableError(Exception):
    """A job model is stored and can't be read. It must not be guessed: keys would move away from their state."""


class JobModelDamagedError(JobModelUnreadableError):
    """A document of the job model is missing, damaged, or of another model: restore it, or start a new run."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}. {_WAY_OUT}")


class JobModelTooNewError(JobModelUnreadableError):
    """A later release wrote the job model: upgrade."""


class JobModelOutdatedError(Exception):
    """A newer job model, or another one of the same version, is active: read it, and decide again."""
