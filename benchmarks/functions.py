"""The numbers of Spark's documented examples of its functions that are right here, refused, or wrong, by group."""

from collections import Counter, defaultdict

from benchmarks.spark_examples import Verdict, judged_examples


def main() -> None:
    groups: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)
    wrong = []
    for example in judged_examples():
        groups[example.group][example.verdict] += 1
        if example.verdict is Verdict.WRONG:
            wrong.append(example)
    print(f"{'group':24}" + "".join(f"{verdict:>9}" for verdict in Verdict))
    for group, counts in [*sorted(groups.items()), ("all", sum(groups.values(), Counter()))]:
        print(f"{group:24}" + "".join(f"{counts[verdict]:9}" for verdict in Verdict))
    for example in wrong:
        print(f"wrong: {example.text}: {example.detail}")
