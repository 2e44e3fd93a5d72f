"""Ctrl-C, before a run has begun and during it."""

import os
import signal

import pytest

from streamapp_cli.signals import interrupts, quiet_interrupts


def test_before_anything_has_begun_ctrl_c_just_ends_the_program():
    before = signal.getsignal(signal.SIGINT)
    with quiet_interrupts():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_one_asks_for_a_last_commit_and_the_second_ends_the_run(number):
    before = signal.getsignal(number)
    with interrupts() as asked:
        assert not asked()
        os.kill(os.getpid(), number)
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before
