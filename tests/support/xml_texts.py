"""XML texts as people and programs write them, and worse; and paths into them."""

import random

_NAMES = ["a", "a", "b", "b", "c", "n:b", "d-e", "f.g", "é"]
_TEXTS = [
    "", "", " ", "\n  ", "1", "2", "1.5", "-2", "007", " 12 ", "1e3", "abc", "x y", "true", "é", "🙂a", "&lt;&amp;",
    "&#65;", "&#x1F642;", "NaN", "99999999999", "2024-02-29", "2024-02-29 01:02:03", "2024-02-29T01:02:03Z", "-",
]  # fmt: skip
_BREAKS = ["<", ">", "&", "/", "</a>", "<a>", '"', "]]>", "<!--", "&x;", "\x01", "\ufeff", "<![CDATA[", "=", "?>", ""]
_AROUND = ["", "", "", "<!-- x -->", "<?pi z?>", "\n", "<!--1--><?q 2?>"]
_HEADS = ["", "", "", "<?xml version='1.0'?>", '<?xml version="1.0" encoding="UTF-8"?>']


def xml_text(draw: random.Random) -> str:
    """Return an XML text, or one that is broken somewhere."""
    text = sound_xml_text(draw)
    if draw.random() < 0.1:
        place = draw.randrange(len(text))
        return text[:place] + draw.choice(_BREAKS) + text[place + draw.choice([0, 1]) :]
    return text


def sound_xml_text(draw: random.Random) -> str:
    """Return an XML text without a fault."""
    return draw.choice(_HEADS) + draw.choice(_AROUND) + _element(draw, 4) + draw.choice(_AROUND)


def _element(draw: random.Random, depth: int) -> str:
    name = draw.choice(_NAMES)
    keys = draw.sample(["a", "b", "x", "n:q", "xmlns", "xmlns:n"], draw.choice([0, 0, 0, 1, 2, 3]))
    start = name + "".join(f' {key}="{draw.choice(_TEXTS)}"' for key in keys)
    if draw.random() < 0.15:
        return f"<{start}/>"
    inner = "".join(_content(draw, depth) for _ in range(draw.choice([0, 1, 1, 2, 3, 4])))
    return f"<{start}>{inner}</{name}>"


def _content(draw: random.Random, depth: int) -> str:
    kind = draw.random()
    if depth > 0 and kind < 0.6:
        return _element(draw, depth - 1)
    if kind < 0.9:
        return draw.choice(_TEXTS)
    return draw.choice(["<![CDATA[1<2]]>", "<![CDATA[]]>", "<!-- c -->", "<?pi some data?>", "<!---->"])


def xpath_of_nodes(draw: random.Random, depth: int = 2) -> str:
    """Return a path that selects nodes."""
    if draw.random() < 0.08:
        return f"({xpath_of_nodes(draw, depth)})[{_predicate(draw, depth)}]"
    if draw.random() < 0.06:
        return f"{xpath_of_nodes(draw, 0)} | {xpath_of_nodes(draw, 0)}"
    if draw.random() < 0.15:
        return draw.choice(["//", ".//", "descendant::", "/descendant-or-self::"]) + _step(draw, depth)
    path = draw.choice(["", "", "/", "//", "//", ".//", "a/"])
    return path + draw.choice(["/", "/", "/", "//"]).join(
        _step(draw, depth) for _ in range(draw.choice([1, 1, 2, 2, 3]))
    )


def _step(draw: random.Random, depth: int) -> str:
    if draw.random() < 0.1:
        return draw.choice([".", ".."])
    axes = [
        "descendant",
        "ancestor",
        "following-sibling",
        "preceding-sibling",
        "following",
        "preceding",
        "self",
        "descendant-or-self",
        "ancestor-or-self",
        "parent",
        "attribute",
        "child",
    ]
    axis = draw.choice(["", "", "", "", "", "@", "", draw.choice(axes) + "::"])
    tests = ["a", "b", "c", "*", "*", "q", "d-e", "f.g", "é", "text()", "node()", "comment()"]
    tests += ["processing-instruction()", "processing-instruction('pi')", "text()"]
    predicates = "".join(f"[{_predicate(draw, depth - 1)}]" for _ in range(draw.choice([0, 0, 0, 0, 1, 1, 2])))
    return axis + draw.choice(tests) + (predicates if depth > 0 else "")


def _predicate(draw: random.Random, depth: int) -> str:
    kinds = ["1", "2", "last()", "position() > 1", "position() = last() - 1", "-1", "1.5", "@x", "text()"]
    if draw.random() < 0.5:
        return draw.choice(kinds)
    return draw.choice([_text, _condition, lambda d, n: xpath_of_nodes(d, 0)])(draw, max(depth, 0))


def xpath_value(draw: random.Random) -> str:
    """Return a path that computes a value, or selects nodes."""
    return draw.choice([_number, _text, _condition, xpath_of_nodes])(draw, 2)


def _any(draw: random.Random, depth: int) -> str:
    return draw.choice([_number, _text, _condition, xpath_of_nodes])(draw, depth - 1)


def _number(draw: random.Random, depth: int) -> str:
    if depth <= 0:
        return draw.choice(["0", "1", "2", "1.5", ".5", "-1", "3.", "0 div 0"])
    nodes, value = xpath_of_nodes(draw, depth - 1), _any(draw, depth)
    return draw.choice(
        [
            f"count({nodes})", f"sum({nodes})", f"number({value})", f"string-length({value})", "string-length()",
            f"floor({value})", f"ceiling({value})", f"round({value})", f"{_number(draw, depth - 1)} + {value}",
            f"({value}) * 2", f"({value}) div ({_number(draw, depth - 1)})", f"({value}) mod 3", f"-({value})",
            "number()",
        ]
    )  # fmt: skip


def _text(draw: random.Random, depth: int) -> str:
    if depth <= 0:
        return draw.choice(["'a'", "'1'", '""', "'🙂'", "' x  y '", "name()", "local-name()", "string()"])
    one, other = _any(draw, depth), _any(draw, depth)
    return draw.choice(
        [
            f"string({one})", f"concat({one}, {other})", f"substring({one}, {_number(draw, depth - 1)})",
            f"substring({one}, 2, 2)", f"substring-before({one}, {other})", f"substring-after({one}, {other})",
            f"normalize-space({one})", f"translate({one}, '1ab', 'x🙂')", f"name({xpath_of_nodes(draw, depth - 1)})",
            f"local-name({xpath_of_nodes(draw, depth - 1)})",
        ]
    )  # fmt: skip


def _condition(draw: random.Random, depth: int) -> str:
    if depth <= 0:
        return draw.choice(["true()", "false()", "1 = 1", "not(a)", "@x = 1"])
    one, other = f"({_any(draw, depth)})", f"({_any(draw, depth)})"
    sign = draw.choice(["=", "!=", "<", "<=", ">", ">=", "and", "or"])
    calls = [f"contains({one}, {other})", f"starts-with({one}, {other})", f"not({one})", f"boolean({one})"]
    return draw.choice([*calls, f"{one} {sign} {other}"])
