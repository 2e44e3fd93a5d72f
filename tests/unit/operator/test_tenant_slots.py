"""Slots of tenants: never more than there are, in all and of one tenant, and what is given back can be taken again."""

from contextlib import ExitStack
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_operator.observe.tenant_slots import SlotsTakenError, TenantSlots


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30))
def test_slots_are_bounded_in_all_and_per_tenant(moves):
    slots = TenantSlots(4, 2, lambda: 0.0)
    held = {tenant: [] for tenant in "abc"}
    for tenant, take in moves:
        if not take:
            if held[tenant]:
                held[tenant].pop().close()
            continue
        stack = ExitStack()
        total = sum(map(len, held.values()))
        if total < 4 and len(held[tenant]) < 2:
            stack.enter_context(slots.take(tenant, 0.0))
            held[tenant].append(stack)
        else:
            with pytest.raises(SlotsTakenError):
                stack.enter_context(slots.take(tenant, 0.0))


def test_who_waits_gets_the_slot_that_is_given_back():
    slots = TenantSlots(1, 1, lambda: 0.0)
    got = []

    def wait():
        with slots.take("b", 30.0):
            got.append("b")

    with slots.take("a", 0.0):
        waiting = Thread(target=wait)
        waiting.start()
        assert got == []
    waiting.join(30)
    assert got == ["b"]
