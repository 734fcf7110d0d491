"""The check of the error log: a line that no test announced fails the test."""

import re

from . import messages

_LINE = re.compile(r"^\[[^\]]*\] \[(?P<module>[\w-]*):(?P<level>\w+)\] (?P<text>.*)$")
_QUIET = {"notice", "info", "debug", *(f"trace{n}" for n in range(1, 9))}
_NEVER = re.compile(
    r"exit signal|Segmentation fault|AddressSanitizer|runtime error:|LeakSanitizer|seg fault")


class ErrorLog:
    """Reads the file on from the last position; `allowed` patterns always hold, `expect` holds for
    a test."""

    def __init__(self, path, allowed=()):
        self.path = path
        self._allowed = [re.compile(p) for p in allowed]
        self._expected = []
        self._at = 0

    def expect(self, pattern):
        self._expected.append(re.compile(pattern))

    def text(self):
        try:
            return self.path.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def lines(self, pattern=""):
        """Complete lines; a line still being written is left for the next call."""
        whole, _, _ = self.text().rpartition("\n")
        return [line for line in whole.splitlines() if re.search(pattern, line)]

    def unexpected(self):
        """Lines since the last call that nobody announced; forgets the test's announcements."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            data = b""
        # A line still being written is left for the next call.
        data = data[: data.rfind(b"\n") + 1]
        self._at += len(data)
        said = data.decode(errors="replace")
        messages.see(said)
        bad = [line for line in said.splitlines() if self._is_bad(line)]
        self._expected = []
        return bad

    def _is_bad(self, line):
        if any(p.search(line) for p in self._expected):
            return False
        if _NEVER.search(line):
            return True
        if any(p.search(line) for p in self._allowed):
            return False
        match = _LINE.match(line)
        return bool(line.strip()) and not (match and match["level"] in _QUIET)
