"""The figures of pages: Mermaid's diagrams are drawn at the build, since browsers would load what draws them."""

import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256

import mermaidx

_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_AS_WIDE_AS_IT_IS = {"flowchart": {"useMaxWidth": False}}
_TRANSPARENT, _WHITE = "background-color: transparent", "background-color: white"


def draw_figures(markdown: str) -> Mapping[str, str]:
    """Draw the diagrams of a page: SVG by the name of its file.

    Raises:
        RuntimeError: a diagram is none of Mermaid's.
    """
    return {_name(found[1]): _draw(found[1]) for found in _DIAGRAM.finditer(markdown)}


def show_figures(markdown: str, folder: str) -> str:
    """Put the figures, whose files are in a folder, in the place of their diagrams; each leads to its file."""
    return _DIAGRAM.sub(lambda found: "[![Diagram]({0})]({0})".format(f"{folder}/{_name(found[1])}"), markdown)


def _name(diagram: str) -> str:
    return f"{sha256(diagram.encode()).hexdigest()[:16]}.svg"


@cache
def _draw(diagram: str) -> str:
    """Draw black lines on white: pages may be dark."""
    return str(mermaidx.render(diagram, config=_AS_WIDE_AS_IT_IS).svg()).replace(_TRANSPARENT, _WHITE, 1)
