"""Behaviours that several implementations share: functions `check_*` of a module, as parameters of one test."""

import pytest


def behaviours(*modules):
    """Give the functions of these modules whose names begin with `check_`, named without that."""
    return [
        pytest.param(function, id=name.removeprefix("check_"))
        for module in modules
        for name, function in vars(module).items()
        if name.startswith("check_")
    ]
