"""Run the benchmarks that are named, or all of them."""

import sys
from importlib import import_module

NAMES = ("planner", "grouping", "assignment", "streaming", "streaming_profile")


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        sys.exit(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    for name in names or NAMES:
        print(f"== {name}")
        import_module(f"benchmarks.{name}").main()


main(sys.argv[1:])
