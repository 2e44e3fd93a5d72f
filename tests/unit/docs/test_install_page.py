"""The page about installing: its table is the chart's values, and its commands name what the chart makes."""

import json
import re

import yaml

from support.chart import CHART, defaults, leaves
from unit.docs import pages

ROW = re.compile(r"^\| `([\w.]+)` \| `(.+?)` \|", re.MULTILINE)


def test_the_table_has_every_value_with_its_default_in_the_chart_s_order():
    table = [(name, json.loads(default)) for name, default in ROW.findall(pages.read("install.md"))]
    assert table == list(leaves(defaults()))


def test_the_oldest_kubernetes_is_the_chart_s():
    wanted = yaml.safe_load((CHART / "Chart.yaml").read_text())["kubeVersion"]
    (told,) = re.findall(r"Kubernetes\s+(\d+\.\d+) or newer", pages.read("install.md"))
    assert wanted == f">={told}.0-0"
