"""Accepted means right: random apps find what a batch query over the same rows finds, or are refused.

`make soak` runs thousands of them (STREAMAPP_DIFFERENTIAL_APPS). A failure is shrunk by Hypothesis, which prints the
app and how to run it again.
"""

import os

from hypothesis import HealthCheck, Phase, event, given, settings

from differential import circumstances, random_apps, reference
from streamapp_runtime.errors import PlanRefused

APPS = int(os.environ.get("STREAMAPP_DIFFERENTIAL_APPS", "40"))
PHASES = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]


@settings(max_examples=APPS, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(case=random_apps.cases())
def test_an_accepted_app_finds_what_a_query_over_all_rows_finds(tmp_path_factory, case):
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
