"""Run the benchmarks that are named, or all but those of ten minutes and more; options go to the only one named."""

import sys
from importlib import import_module
from itertools import takewhile

USUAL = (
    "planner",
    "functions",
    "grouping",
    "assignment",
    "streaming",
    "streaming_profile",
    "control_traffic",
    "scale",
    "claim_checks",
    "keyed_state",
    "json_decoding",
    "record_writing",
    "avro_decoding",
    "protobuf_decoding",
    "formats",
    "kafka_reading",
    "kafka_latency",
)
LONG = ("tables", "kafka_restart", "kafka_steady", "nexmark", "nexmark_latency", "versus_flink")
NAMES = (*USUAL, *LONG)
WITH_OPTIONS = frozenset({"kafka_latency", "nexmark", "nexmark_latency", "scale", "versus_flink"})


def main(arguments: list[str]) -> None:
    names = [*takewhile(lambda each: not each.startswith("-"), arguments)]
    options = arguments[len(names) :]
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        sys.exit(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if options:
        if len(names) != 1 or names[0] not in WITH_OPTIONS:
            sys.exit(f"options are those of one benchmark: {', '.join(sorted(WITH_OPTIONS))}")
        import_module(f"benchmarks.{names[0]}").main(options)
        return
    for name in names or USUAL:
        print(f"== {name}")
        import_module(f"benchmarks.{name}").main()


main(sys.argv[1:])
