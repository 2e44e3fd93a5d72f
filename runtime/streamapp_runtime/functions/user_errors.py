"""Errors of users' code, described in one line."""

import traceback
from pathlib import Path

USER_EXCEPTIONS = (Exception, SystemExit)
"""Whatever users' code raises is its failure, not ours; a module may even want to end the program."""


class UserFunctionFailed(Exception):  # noqa: N818 - what happened
    """A function raised something, or returned something that it must not; the message says what."""


def describe_error(error: BaseException, called_from: int) -> str:
    """Return an exception's type, message and line of users' code; `called_from` frames up to it are not theirs.

    That is the last line in the file that was called, not what it called in libraries.
    """
    frames = list(traceback.walk_tb(error.__traceback__))[called_from:]
    places = [(frame.f_code.co_filename, line) for frame, line in frames if frame.f_code.co_filename.endswith(".py")]
    lines = [line for file, line in places if file == places[0][0]]
    where = f" ({Path(places[0][0]).name}, line {lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {error}{where}"
