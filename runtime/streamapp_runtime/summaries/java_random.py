"""The generator of numbers of `java.util.Random`: some aggregates are defined by what it yields."""

_MULTIPLIER, _MASK = 0x5DEECE66D, (1 << 48) - 1


def scrambled(seed: int) -> int:
    """Return the state of a generator with a seed."""
    return (seed ^ _MULTIPLIER) & _MASK


def next_bits(state: int, bits: int) -> tuple[int, int]:
    """Return the generator's next state, and so many bits of it."""
    state = (state * _MULTIPLIER + 0xB) & _MASK
    return state, state >> (48 - bits)


def next_double(state: int) -> tuple[int, float]:
    """Return the next state and a number from 0 to below 1."""
    state, high = next_bits(state, 26)
    state, low = next_bits(state, 27)
    return state, ((high << 27) + low) / (1 << 53)
