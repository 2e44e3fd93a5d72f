"""The options with which XML texts are read."""

import json
from dataclasses import dataclass
from functools import lru_cache

from streamapp_runtime.kernels.java_units import JAVA_SPACES


@dataclass(frozen=True, slots=True, kw_only=True)
class XmlOptions:
    """The options of a call: which names fields get, and which texts count."""

    attribute_prefix: str
    value_tag: str
    attributes: bool
    trims: bool
    local_names: bool

    @staticmethod
    @lru_cache(maxsize=256)
    def parse(text: str) -> "XmlOptions":
        """Read the options that SQL gives, which are JSON."""
        return XmlOptions(**json.loads(text))

    def trimmed(self, text: str) -> str:
        """Return a text without spaces around it, if these don't count."""
        return text.strip(JAVA_SPACES) if self.trims else text

    def local(self, name: str) -> str:
        """Return a name, perhaps without its prefix."""
        return name.rpartition(":")[2] if self.local_names else name
