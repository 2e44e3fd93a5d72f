"""Run the benchmarks that are named, or all but those of ten minutes and more."""

import sys
from importlib import import_module

USUAL = (
    "planner",
    "functions",
    "grouping",
    "assignment",
    "streaming",
    "streaming_profile",
    "control_traffic",
    "claim_checks",
    "json_decoding",
    "avro_decoding",
    "protobuf_decoding",
    "tables",
    "kafka",
    "kafka_event_time",
    "kafka_latency",
)
LONG = ("kafka_restart", "kafka_steady", "nexmark")
NAMES = (*USUAL, *LONG)


def main(names: list[str]) -> None:
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        sys.exit(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    for name in names or USUAL:
        print(f"== {name}")
        import_module(f"benchmarks.{name}").main()


main(sys.argv[1:])
