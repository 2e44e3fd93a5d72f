"""The results of tests as JUnit XML, as CI servers read it."""

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from streamapp_runtime.app_tests.run_tests import RunResult


def junit_xml(suite: str, results: Mapping[str, Sequence[RunResult]], seconds: float) -> str:
    """Return a suite with a case for each test in each of its circumstances."""
    cases = [(name, result) for name, of_test in results.items() for result in of_test]
    failures = sum(not result.passed for _, result in cases)
    attributes = {"name": suite, "tests": str(len(cases)), "failures": str(failures), "errors": "0"}
    root = ET.Element("testsuites")
    found = ET.SubElement(root, "testsuite", {**attributes, "time": f"{seconds:.3f}"})
    for name, result in cases:
        case = ET.SubElement(found, "testcase", {"classname": suite, "name": f"{name} [{result.circumstances.name}]"})
        if not result.passed:
            message = result.failed or f"rows differ: {', '.join(output for output, _ in result.differences)}"
            ET.SubElement(case, "failure", {"message": _printable(message)}).text = _printable(_details(result))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _details(result: RunResult) -> str:
    lines = [result.failed] if result.failed else []
    for output, differences in result.differences:
        lines += [f"{output}: - expected, + written", *(f"{line.sign} {line.text}" for line in differences)]
    return "\n".join(lines)


def _printable(text: str) -> str:
    """Return a text without the characters that XML can't have."""
    return "".join(sign if sign in "\n\t" or sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
