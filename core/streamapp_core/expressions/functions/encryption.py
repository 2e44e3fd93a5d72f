"""Functions that encrypt bytes and decrypt them, by AES."""

from collections.abc import Sequence

from streamapp_core.expressions.conversions import implied
from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import AES_DECRYPTED, AES_ENCRYPTED
from streamapp_core.expressions.typed_sql import Value, text
from streamapp_core.schema import BINARY

AES_PADDINGS = {"GCM": ("NONE", "DEFAULT"), "CBC": ("PKCS", "DEFAULT"), "ECB": ("PKCS", "DEFAULT")}
"""The paddings of each mode."""
_MODE, _PADDING = Parameter("mode", Accepts.TEXT), Parameter("padding", Accepts.TEXT)
_KEY = Parameter("key", Accepts.BINARY)
_IV = Parameter("iv", Accepts.ANY)  # whose literal counts
_AAD = Parameter("aad", Accepts.BINARY)
_EMPTY = "''::BLOB"
_WITHOUT_VECTOR = (
    "aes_encrypt without an iv takes a random one: a replay would give other bytes. Give an iv: 12 bytes that no other "
    "value is encrypted with by this key (16 for 'CBC'), or take the mode 'ECB'"
)


def _mode(name: str, mode: Value | None, padding: Value | None) -> str | None:
    """Return the mode, if it is known before rows are.

    Raises:
        Refusal: There is no such mode, or not with this padding.
    """
    written = "GCM" if mode is None else mode.literal
    padded = "DEFAULT" if padding is None else padding.literal
    known = written.upper() if isinstance(written, str) else None
    if known is None:
        return None
    if known not in AES_PADDINGS:
        raise invalid(f"{name} takes the modes 'GCM', 'CBC' and 'ECB', not '{known[:20]}'")
    if isinstance(padded, str) and padded.upper() not in AES_PADDINGS[known]:
        paddings = " and ".join(f"'{padding}'" for padding in AES_PADDINGS[known])
        raise invalid(f"{name} takes in mode '{known}' the paddings {paddings}, not '{padded[:20]}'")
    return known


def _encrypted(
    value: Value, key: Value, mode: Value | None = None, padding: Value | None = None, *more: Value
) -> Value:
    known = _mode("aes_encrypt", mode, padding)
    if known != "ECB" and (not more or more[0].literal == ""):
        raise invalid(_WITHOUT_VECTOR)
    more = tuple(implied(one, BINARY) for one in more)
    return Value(BINARY, AES_ENCRYPTED.over(value.sql, key.sql, *_given(mode, padding, more, 2)))


def _decrypted(
    value: Value, key: Value, mode: Value | None = None, padding: Value | None = None, *more: Value
) -> Value:
    _mode("aes_decrypt", mode, padding)
    return _decrypted_or_null(value, key, mode, padding, *more)


def _decrypted_or_null(
    value: Value, key: Value, mode: Value | None = None, padding: Value | None = None, *more: Value
) -> Value:
    return Value(BINARY, AES_DECRYPTED.over(value.sql, key.sql, *_given(mode, padding, more, 1)))


def _given(mode: Value | None, padding: Value | None, more: Sequence[Value], count: int) -> list[str]:
    """Write the arguments behind the key, with those that are not given."""
    names = [text("GCM") if mode is None else mode.sql, text("DEFAULT") if padding is None else padding.sql]
    return [*names, *(one.sql for one in more), *([_EMPTY] * (count - len(more)))]


ENCRYPTION = (
    Function(
        name="aes_encrypt",
        parameters=(Parameter("value", Accepts.BINARY), _KEY, _MODE, _PADDING, _IV, _AAD),
        optional=4,
        result="binary",
        doc="The bytes encrypted by AES with a key of 16, 24 or 32 bytes, behind the `iv` (initialization vector). The "
        "mode is 'GCM' (which takes an iv of 12 bytes, and authenticates the bytes of `aad` too), 'CBC' (an iv of 16 "
        "bytes) or 'ECB' (none). The padding is 'DEFAULT'. Null if a length is another. Slow.",
        write=_encrypted,
    ),
    Function(
        name="aes_decrypt",
        parameters=(Parameter("value", Accepts.BINARY), _KEY, _MODE, _PADDING, _AAD),
        optional=3,
        result="binary",
        doc="What `aes_encrypt` encrypted by the same key, mode ('GCM' if none is given) and `aad`; null if it did "
        "not. Slow.",
        write=_decrypted,
    ),
    Function(
        name="try_aes_decrypt",
        parameters=(Parameter("value", Accepts.BINARY), _KEY, _MODE, _PADDING, _AAD),
        optional=3,
        result="binary",
        doc="As `aes_decrypt`; null if there is no such mode or padding. Slow.",
        write=_decrypted_or_null,
    ),
)
