"""Floating numbers as texts, with the digits of Java before version 19 (JDK-4511638), which are not always the fewest.

The digits are made as `jdk.internal.math.FloatingDecimal` makes them, so that the texts are those of Spark on Java 17.
"""

import math
import struct
from dataclasses import dataclass
from decimal import Decimal

_LEAST, _MOST = 2.0**-20, 2.0**53
"""Doubles between these have the fewest digits in Java, too."""
_FRACTION = (1 << 52) - 1
_TOO_BIG = 63
_KNOWN_POWERS = 27
_NO_EXPONENT = range(-3, 7)
_ONE_DIGIT = range(-3, 8)
"""Of numbers with other exponents a second digit is generated, whatever the first is."""


def floating_text(value: float, *, single: bool = False) -> str:
    """Write a double as a text, or (`single`) the float that it is."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    digits, exponent = (
        _shortest(value) if _is_usual(value) and not single else _digits(_binary(abs(value), single=single))
    )
    if exponent not in _NO_EXPONENT:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    return f"{sign}{digits[: exponent + 1].ljust(exponent + 1, '0')}.{digits[exponent + 1 :] or '0'}"


def decimal_of(value: float) -> Decimal:
    """Return a finite double as the decimal number that is written for it."""
    return Decimal(repr(value) if _is_usual(value) else floating_text(value))


def _is_usual(value: float) -> bool:
    return value == 0 or _LEAST <= abs(value) <= _MOST


def _shortest(value: float) -> tuple[str, int]:
    _, figures, exponent = Decimal(repr(value)).as_tuple()
    digits = "".join(map(str, figures))
    return digits.rstrip("0"), len(digits) + int(exponent) - 1


@dataclass(frozen=True, slots=True)
class _Binary:
    """A number above 0: `fraction`, of 53 bits of which the first is set, times 2 to the power of `exponent` - 52.

    `significant` counts the bits that its type has for a number of this size.
    """

    exponent: int
    fraction: int
    significant: int


def _binary(value: float, *, single: bool) -> _Binary:
    stored, size, bias = (struct.pack(">f", value), 23, 127) if single else (struct.pack(">d", value), 52, 1023)
    exponent, fraction = divmod(int.from_bytes(stored), 1 << size)
    if exponent:
        return _Binary(exponent - bias, fraction + (1 << size) << 52 - size, size + 1)
    bits = fraction.bit_length()
    return _Binary(bits - size - bias, fraction << 53 - bits, bits)


def _digits(number: _Binary) -> tuple[str, int]:
    """Return the decimal digits of a number, without zeros at the end, and its exponent."""
    if 0 <= number.exponent < _TOO_BIG and not number.fraction & (_FRACTION >> number.exponent):
        return _whole_digits(number)
    return _generated_digits(number)


def _whole_digits(number: _Binary) -> tuple[str, int]:
    whole = number.fraction << number.exponent >> 52
    insignificant = int(max(0, number.exponent - number.significant - 1) * math.log10(2))
    unit = 10**insignificant
    digits = str((whole + unit // 2) // unit)
    return digits.rstrip("0"), len(digits) + insignificant - 1


def _generated_digits(number: _Binary) -> tuple[str, int]:
    """Generate digits until they, or they with 1 added to the last, are less than half a unit from the number."""
    zeros = (number.fraction & -number.fraction).bit_length() - 1
    bits = 53 - zeros
    exponent = _estimated_exponent(number)
    fives, divisor_fives = max(0, -exponent), max(0, exponent)
    divisor_twos = divisor_fives + max(0, bits - number.exponent - 1)
    twos = fives + divisor_twos - divisor_fives + number.exponent - bits + 1
    half_twos = twos + bits - 1 - number.significant - (bits == 1)
    common = min(twos, divisor_twos, half_twos)
    twos, divisor_twos, half_twos = twos - common, divisor_twos - common, half_twos - common
    rest, divisor = (number.fraction >> zeros) * 5**fives << twos, 5**divisor_fives << divisor_twos
    half, tens = 5**fives << half_twos, 10 * divisor
    word = _word(bits + twos + _bits_of_five_to(fives), divisor_twos + 1 + _bits_of_five_to(divisor_fives + 1))
    digits, low, high, start = "", False, False, True
    while not low and not high:
        digit, rest = divmod(rest, divisor)
        rest, half = 10 * rest, _stored(10 * half, word)
        low, high = half <= 0 or rest < half, half <= 0 or _stored(rest + half, word) > tens - (word is None)
        if digits or digit or high:
            digits += str(digit)
        else:
            exponent -= 1
        if start and exponent not in _ONE_DIGIT:
            low = high = False
        start = False
    if high and low:
        above = _stored(2 * rest - tens, word)
        high = above > 0 or (above == 0 and int(digits[-1]) % 2 == 1)
    if not high:
        return digits, exponent
    more = str(int(digits) + 1)
    return (more, exponent) if len(more) == len(digits) else (more[:-1], exponent + 1)


def _estimated_exponent(number: _Binary) -> int:
    mantissa = 1 + (number.fraction & _FRACTION) / (1 << 52)
    return math.floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + number.exponent * 0.301029995663981)


def _bits_of_five_to(power: int) -> int:
    """Return the number of bits of a power of 5: Java has a table of the first 27, and takes the others for less."""
    return 3 * power if power >= _KNOWN_POWERS or power == 0 else (5**power).bit_length()


def _word(*bits: int) -> int | None:
    """Return the size of the numbers with which Java computes; None if they have no limit."""
    return next((size for size in (32, 64) if max(bits) < size), None)


def _stored(number: int, word: int | None) -> int:
    return (number + (1 << word - 1)) % (1 << word) - (1 << word - 1) if word else number
