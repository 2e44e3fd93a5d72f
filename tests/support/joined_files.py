"""The small files of tables that are written, joined beside other work on these."""

from collections.abc import Callable
from itertools import count

from hypothesis import strategies as st

from streamapp_systems.objects import Place
from streamapp_systems.tables import FileJoiner, JoinedFiles
from support.table_outputs import WrittenTable, rows

_numbers = count()


def joiner(table: WrittenTable, **more: int) -> FileJoiner:
    """Open what joins files of a table."""
    return FileJoiner(table.open(table.address), (f"part-joined-{number}" for number in _numbers), **more)


def join_all(table: WrittenTable, **more: int) -> int:
    """Join what is worth it; return in how many commits."""
    found, commits = joiner(table, **more), 0
    while (joined := found.write()) is not None:
        assert found.commit(joined)
        commits += 1
    return commits


def live(table: WrittenTable) -> list[tuple[Place, int]]:
    """Give the files of the table that may be joined, and their sizes."""
    version = table.open(table.address).load()
    return [(file.place, file.size) for file in version.live_files()]


def publish_each(table: WrittenTable, numbers: range, folders: tuple[str, ...] = ()) -> None:
    """Add rows of these numbers, each in a commit of its own."""
    output = table.opened(next(_numbers), folders)
    for number in numbers:
        output.write("out", rows(number))
        output.publish(output.stage())
    output.close()


def join_beside_others(
    table: WrittenTable, data: st.DataObject, others: dict[str, Callable[[list[int]], list[int]]]
) -> None:
    """Join files while rows are published, and while others do what they do to the numbers of the table's rows.

    What was written by joining may be committed late, twice, or never. The table has its rows after each step.
    """
    folders = data.draw(st.sampled_from([(), ("city",)]))
    table.create(folders)
    publish_each(table, range(5), folders)
    expected, made = list(range(5)), count(5)
    found = joiner(table)
    left: list[JoinedFiles] = []
    for step in data.draw(st.lists(st.sampled_from(["publish", "write", "commit", "commit", *others]), max_size=12)):
        match step:
            case "publish":
                number = next(made)
                publish_each(table, range(number, number + 1), folders)
                expected.append(number)
            case "write":
                left += [joined for joined in [found.write()] if joined is not None]
            case "commit" if left:
                found.commit(data.draw(st.sampled_from(left)))
            case "commit":
                join_all(table)
            case _:
                expected = others[step](expected)
        assert table.found() == sorted(expected)
