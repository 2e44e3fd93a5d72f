"""Accepted means right: random apps find what a batch query over the same rows finds, or are refused.

Each run has a seed of its own; `make soak` has thousands of apps (STREAMAPP_DIFFERENTIAL_SEEDS). A failure is shrunk by
Hypothesis, which prints the smallest app that shows it.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, event, given, seed, settings

from differential import circumstances, random_apps, reference
from streamapp_runtime.errors import PlanRefused

SEEDS = int(os.environ.get("STREAMAPP_DIFFERENTIAL_SEEDS", "2"))
APPS = 25
PHASES = [Phase.generate, Phase.shrink]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("number", range(SEEDS))
def test_accepted_apps_find_what_a_query_over_all_rows_finds(tmp_path_factory, number):
    @seed(number)
    @settings(max_examples=APPS, deadline=None, database=None, phases=PHASES, suppress_health_check=list(HealthCheck))
    @given(case=random_apps.cases())
    def find(case):
        folder = tmp_path_factory.mktemp("app")
        circumstances.lay_out(folder, case)
        try:
            circumstances.run(folder, case)
        except PlanRefused as refused:
            for problem in refused.problems:
                event(f"refused: {problem.code}")
            return
        event("accepted")
        streams = case.document["spec"]["streams"]
        for name, (key, rows) in reference.results(case.document, circumstances.tables(case)).items():
            assert circumstances.written(folder, streams[name], key) == circumstances.as_text(rows), name

    find()
