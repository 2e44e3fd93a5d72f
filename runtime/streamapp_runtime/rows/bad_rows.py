"""What a task remembers of rows it could not use."""

_REMEMBERED = 10


class BadRows:
    """The first bad rows of a task, each with its place and what was wrong.

    The task says where the rows come from that its operators get; an operator says what is wrong with one.
    """

    def __init__(self) -> None:
        self.place = ""
        """Where the rows come from that are being processed."""
        self.descriptions: tuple[str, ...] = ()

    @property
    def full(self) -> bool:
        """Whether no more are remembered."""
        return len(self.descriptions) == _REMEMBERED

    def remember(self, *rows: str) -> None:
        """Add rows, as long as there are few."""
        self.descriptions = (*self.descriptions, *rows)[:_REMEMBERED]
