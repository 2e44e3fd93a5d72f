"""The owner of a state folder: what another owner left there is recreated (docs/architecture.md)."""

import msgspec


class StateOwner(msgspec.Struct, frozen=True, kw_only=True):
    """The task of a run that a folder's state belongs to, and the boot of the machine that writes it.

    A crash of that boot may lose writes. `task` is the task's name, or that of another owner of state, such as a
    processor.
    """

    run_id: str
    task: str
    boot_id: str
