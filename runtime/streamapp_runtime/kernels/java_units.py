"""Texts as Java counts and orders them: characters beyond 16 bits are two halves."""

JAVA_SPACES = "".join(map(chr, range(ord(" ") + 1)))
"""The characters that Java's `trim` takes away."""


def utf16_order(name: str) -> bytes:
    """Return what orders names as Java does."""
    return name.encode("utf-16-be", "surrogatepass")


def units(text: str) -> str:
    """Return a text with each half of a character, as Java counts them."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    pairs = text.encode("utf-16-be", "surrogatepass")
    return "".join(chr(int.from_bytes(pairs[at : at + 2])) for at in range(0, len(pairs), 2))


def joined_units(halves: str) -> str:
    """Return the text of such halves; one that stands alone is kept."""
    if halves.isascii():
        return halves
    return halves.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
