"""A driver that goes to another number of processors as soon as all have opened their tasks: `FOLDER COUNT`."""

import sys
from pathlib import Path

from support import apps
from support.supervision import scaled


def main(folder: Path, count: int) -> None:
    boards = []

    def make_host(channel, app, log_folder):
        boards.append(channel)
        return apps.in_process(channel, app, log_folder)

    def wanted(run):
        reports = boards[0].reports()
        opened = {processor for processor, report in reports.items() if report.opened}
        return scaled(run, count) if opened == {"0", "1"} else None

    apps.run((folder / "app.yaml").read_text(), folder, make_host, fresh=False, requested_change=wanted)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
