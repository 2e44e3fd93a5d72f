"""One line of CSV as Spark's parser splits it: quotes and their escapes, also where they stand wrong.

The text is one record: the ends of lines in it are characters like others, but a zero byte ends it.
"""

QUOTE = '"'
ESCAPE = "\\"
MAX_WRONG_QUOTES = 100
"""The most quotes of a line that stand wrong behind backslashes; with more of them it has no values."""
_END = "\0"
_LAST_SPACE = " "


class _TextEnd(Exception):  # noqa: N818 - what happened
    """The text has no further character."""


def csv_tokens(text: str, separator: str) -> list[str] | None:
    """Return the values of a line, those without characters as empty texts; None if it has none."""
    return _Reader(text, separator).read() if text else None


class _Reader:
    """A reader of a text, character by character.

    `_sign` is the character that is looked at, and `_before` the one before it inside of a value.
    """

    def __init__(self, text: str, separator: str) -> None:
        self._text = text
        self._separator = separator
        self._at = 0
        self._sign = _END
        self._before = _END
        self._value: list[str] = []
        self._values: list[str] = []
        self._unescaped = False
        self._depth = 0

    def read(self) -> list[str] | None:
        try:
            self._next()
            self._record()
        except _TextEnd:
            if self._depth > MAX_WRONG_QUOTES:
                return None
            self._finish()
        return self._values or None

    def _next(self) -> None:
        if self._at == len(self._text):
            raise _TextEnd
        self._sign = self._text[self._at]
        self._at += 1

    def _ends_value(self) -> bool:
        return self._sign in (self._separator, _END)

    def _record(self) -> None:
        while self._sign != _END:
            if self._ends_value():
                self._values.append("")
            else:
                self._unescaped = False
                self._before = _END
                if self._sign == QUOTE:
                    self._quoted()
                else:
                    self._until(self._separator, _END)
                self._end_value()
            if self._sign != _END:
                self._next()
                if self._sign == _END:
                    self._values.append("")

    def _end_value(self) -> None:
        self._values.append("".join(self._value))
        self._value.clear()

    def _until(self, *signs: str) -> None:
        """Take characters up to one of these, which is then looked at; at the end of the text still the first one."""
        first = self._sign
        try:
            while self._sign not in signs:
                self._value.append(self._sign)
                self._next()
        except _TextEnd:
            self._sign = first
            raise

    def _finish(self) -> None:
        """Take what is there at the end of the text, as its last value."""
        taken = False
        if self._sign == QUOTE and self._before == QUOTE:
            taken = True
        else:
            if self._sign == QUOTE and not self._unescaped:
                self._value.append(QUOTE)
            taken = self._before != _END and not self._ends_value()
        if self._value or taken or self._at:
            self._end_value()

    def _quoted(self) -> None:
        """Take a value that begins with a quote; the rest of it as it stands if it has been found to be none."""
        if self._before != _END:
            self._value.insert(0, QUOTE)
            self._next()
            self._until(self._separator, _END)
            return
        self._next()
        while not (self._before == QUOTE and (self._sign <= _LAST_SPACE or self._ends_value())):
            if self._sign not in (QUOTE, ESCAPE):
                if self._before == QUOTE:
                    self._wrong_quote()
                    return
                if self._before == ESCAPE:
                    self._value.append(ESCAPE)
                self._until(QUOTE, ESCAPE)
                self._before = self._sign
                self._next()
            else:
                self._escaped()
                self._before = self._sign
                self._next()
                if self._unescaped and self._ends_value():
                    return
        if not self._ends_value():
            self._spaces()

    def _wrong_quote(self) -> None:
        """Go on behind a quote within a value that does not end it."""
        self._unescaped = True
        self._value += (QUOTE, self._sign)
        self._before = self._sign
        self._quoted()

    def _escaped(self) -> None:
        if self._sign == ESCAPE and self._before == ESCAPE:
            self._value.append(ESCAPE)
            self._sign = _END
        elif self._before == ESCAPE:
            if self._sign == QUOTE:
                self._value.append(QUOTE)
                self._sign = _END
            else:
                self._value.append(self._before)
        elif self._sign == QUOTE and self._before == QUOTE:
            self._value.append(QUOTE)
        elif self._before == QUOTE:
            self._unquoted()

    def _unquoted(self) -> None:
        """Take the rest of a value behind a quote that does not end it, with its escapes."""
        self._depth += 1
        if self._depth > MAX_WRONG_QUOTES:
            raise _TextEnd
        self._value.append(QUOTE)
        self._before = self._sign
        while not self._ends_value():
            if self._sign in (QUOTE, ESCAPE):
                self._escaped()
            else:
                if self._before == QUOTE:
                    self._value.append(QUOTE)
                self._value.append(self._sign)
            self._before = self._sign
            self._next()

    def _spaces(self) -> None:
        """Leave out spaces behind the quote, unless other characters follow."""
        spaces: list[str] = []
        while self._sign <= _LAST_SPACE and self._sign != self._separator:
            spaces.append(self._sign)
            self._next()
            if self._sign == _END:
                return
        if self._sign != self._separator:
            self._value += (QUOTE, *spaces, self._sign)
            self._before = self._sign
            self._quoted()
