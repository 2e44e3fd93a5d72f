"""Plain values to YAML that all read alike: `read_document`, `kubectl`, and what reads YAML 1.1."""

import re

import yaml

from streamapp_core.spec.yaml_document import CoreLoader

_LINE = 120
"""Characters of a line, where a value allows it."""
_ONE_LINE = 1 << 30
_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")
"""What YAML 1.1 takes for the end of a line, beside the newline."""


class YamlWriter(yaml.SafeDumper):
    """A writer that quotes each text which a reader of YAML 1.1, of 1.2 or of Go's YAML takes for something else."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the method of a base class
        """Write out whatever stands twice."""
        return True


for _letter, _resolvers in CoreLoader.yaml_implicit_resolvers.items():
    for _tag, _pattern in _resolvers:
        YamlWriter.add_implicit_resolver(_tag, _pattern, [_letter])
# Kubernetes' tools: the booleans of one letter, numbers of other bases, dates and times with parts of one digit.
YamlWriter.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^[yYnN]$"), list("yYnN"))
YamlWriter.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"^[-+]?(0[xXoObB][0-9a-fA-F_]+|\.?[0-9][-+0-9_.:]*([eE][-+]?[0-9_]+)?|[0-9]{4}-[0-9]{1,2}-.*)$"),
    list("-+.0123456789"),
)


def _write_text(writer: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Choose the form of a text: lines as lines, and those that end in other signs than a newline in double quotes."""
    style = "|" if "\n" in text else None
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style='"' if _LINE_ENDS.search(text) else style)


YamlWriter.add_representer(str, _write_text)


def write_document(document: object) -> str:
    """Write a document of plain values, in the order of its names; `read_document` returns an equal one."""
    text: str = yaml.dump(
        document, Dumper=YamlWriter, default_flow_style=None, width=_LINE, sort_keys=False, allow_unicode=True
    )
    return text


def write_inline(value: object) -> str:
    """Write a value in one line, as it stands within a document or a list of one line."""
    text: str = yaml.dump(
        [value], Dumper=YamlWriter, default_flow_style=True, width=_ONE_LINE, sort_keys=False, allow_unicode=True
    )
    return text.strip()[1:-1]
