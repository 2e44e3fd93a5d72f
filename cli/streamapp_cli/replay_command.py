"""`streamapp replay`: an app once more, over a part of what it has read, beside the one that runs."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from streamapp_cli.app_files import exit_with_error, read_app_text, state_folder
from streamapp_cli.command_options import Host, ReplayOutputs, RunOutput
from streamapp_cli.consoles import new_console
from streamapp_cli.plan_inputs import ask_counts, parse_app
from streamapp_cli.print_problems import print_problems
from streamapp_cli.run_command import check_master, make_host, new_printer, run_to_end
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.replay.positions import EARLIEST, Positions, parse_positions
from streamapp_core.replay.replay_app import Replay, ReplayRefusedError, build_replay, without_refused_times
from streamapp_core.spec.parse import ParsedApp, parse_document
from streamapp_core.spec.write_yaml import write_document
from streamapp_core.spec.yaml_document import read_document
from streamapp_core.time_formats import format_milliseconds
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.run_ids import new_run_id

REFUSED = 1


def replay_app(
    file: Path,
    *,
    start: Sequence[str],
    until: Sequence[str],
    follow: bool,
    run_id: str | None,
    outputs: ReplayOutputs,
    write_only: bool,
    host: Host,
    master: str | None,
    output: RunOutput,
    quiet: bool,
) -> int:
    """Run the app of a file over a part of its streams, or print the app that does, and return the exit code."""
    check_master(host, master)
    replay = Replay(
        run_id=run_id or new_run_id(),
        start=_positions("--from", start, EARLIEST),
        until=_positions("--to", until, None),
        follow=follow,
        into_live_outputs=outputs is ReplayOutputs.LIVE,
    )
    text = read_app_text(file)
    parsed = parse_app(file, text)
    document = read_document(text)[0]
    plan = _plan(parsed, file, output, write_only=write_only)
    assert isinstance(document, dict)
    try:
        built = build_replay(document, plan, replay)
        alone = parse_document(built)
        built = without_refused_times(built, make_plan(alone, ask_counts(alone.app, file)).problems)
    except ReplayRefusedError as refused:
        exit_with_error(f"{plan.app.metadata.name}: {refused}", REFUSED)
    replayed = _plan(parse_document(built), file, output, write_only=write_only)
    if write_only:
        print(write_document(built), end="")
        return 0
    name, folder = replayed.app.metadata.name, file.absolute().parent
    if not quiet:
        _print(plan.app.metadata.name, replayed, output)
    request = RunRequest(
        text=json.dumps(built),
        folder=folder,
        state=state_folder(file, name, None),
        fresh=False,
        run_id=replay.run_id,
    )
    changed = (
        f"replay {replay.run_id} began with another app, or with other positions or outputs: give it those again, or "
        "begin another replay with another --run-id"
    )
    return run_to_end(request, make_host(host, folder, master), new_printer(output, name, quiet=quiet), changed=changed)


def _positions(option: str, texts: Sequence[str], default: str | None) -> Positions:
    try:
        return parse_positions(texts, default=default)
    except ValueError as error:
        exit_with_error(f"{option}: {error}")


def _plan(parsed: ParsedApp, file: Path, output: RunOutput, *, write_only: bool) -> Plan:
    """Return the plan of an app, or print why it is refused and end the program.

    If the app is all that is to be printed, the reasons go to standard error.
    """
    result = make_plan(parsed, ask_counts(parsed.app, file), algorithms=installed_algorithm)
    if result.plan is None:
        name = file.stem if parsed.app is None else parsed.app.metadata.name
        if write_only:
            print_problems(new_console(sys.stderr), name, result.problems)
        else:
            new_printer(output, name, quiet=False).refuse(result.problems)
        raise typer.Exit(REFUSED)
    return result.plan


def _print(app: str, replayed: Plan, output: RunOutput) -> None:
    """Print what a replay of an app reads, from where to where, and what it writes."""
    streams = sorted(replayed.streams.values(), key=lambda stream: stream.name)
    read = {s.name: _extent(s) for s in streams if s.role in (StreamRole.INPUT, StreamRole.SIDE_INPUT)}
    written = {s.name: f"{s.address} in {s.system}" for s in streams if s.role is StreamRole.OUTPUT}
    name = replayed.app.metadata.name
    if output is RunOutput.JSON:
        print(json.dumps({"event": "replay", "app": name, "reads": read, "writes": written}), flush=True)
        return
    console = new_console()
    console.print(f"{name} replays {app}; --run-id {replayed.run_id} continues it")
    for stream, extent in read.items():
        console.print(f"  reads {stream} {extent}")
    for stream, place in written.items():
        console.print(f"  writes {stream} to {place}")


def _extent(stream: PlannedStream) -> str:
    """Return from where to where a stream is read."""
    spec = stream.spec
    assert spec is not None
    start = _place("from", spec.starting_timestamp, spec.starting_offsets) or "from its beginning"
    end = _place("to", spec.ending_timestamp, spec.ending_offsets) or "to its present end"
    ended = spec.bounded or not (stream.system_kind.transactional or stream.system_kind.grows)
    return f"{start} {end if ended else 'on'}"


def _place(word: str, time: int | None, offsets: Mapping[str, int]) -> str:
    times = [] if time is None else [f"{word} {format_milliseconds(time)}"]
    return ", ".join([*times, *(f"{word} offset {offset} of partition {p}" for p, offset in offsets.items())])
