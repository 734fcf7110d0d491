"""Counts of files from several threads; their progress and report."""

import sys
import threading

MB = 1e6


def shown(text):
    """A message as it may be printed. Others may have chosen the names of files: they must not
    control the terminal."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in str(text))


def complain(text):
    print(f"precompress: {shown(text)}", file=sys.stderr)


class Coding:
    """The savings of the precompressed files of one coding."""

    def __init__(self):
        self.files = self.bytes_in = self.bytes_out = 0


class Tally:
    def __init__(self):
        self.lock = threading.Lock()
        self.total = self.total_bytes = 0
        self.done = self.done_bytes = 0
        self.written = self.fresh = self.larger = self.pruned = 0
        self.codings = {}  # {extension: Coding}
        self.errors = []
        self.on_line = False

    def expect(self, sizes):
        """Announces the bytes of each file to be done."""
        for size in sizes:
            self.add(total=1, total_bytes=size)

    def add(self, **amounts):
        with self.lock:
            for name, amount in amounts.items():
                setattr(self, name, getattr(self, name) + amount)

    def add_file(self, extension, bytes_in, bytes_out):
        """Counts a precompressed file that is now there."""
        with self.lock:
            coding = self.codings.setdefault(extension, Coding())
            coding.files += 1
            coding.bytes_in += bytes_in
            coding.bytes_out += bytes_out

    def error(self, path, problem):
        text = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        with self.lock:
            self.errors.append(path)
            self.clear_line()
            complain(f"{path}: {text}")

    def clear_line(self):
        if self.on_line:
            print("\r\033[K", end="", file=sys.stderr)
            self.on_line = False

    def show_progress(self):
        with self.lock:
            print(f"\r\033[K{self.done}/{self.total} files, {self.done_bytes / MB:.1f}/"
                  f"{self.total_bytes / MB:.1f} MB, {self.written} precompressed files written",
                  end="", file=sys.stderr, flush=True)
            self.on_line = True

    @property
    def has_changed(self):
        return bool(self.written or self.pruned or self.errors)

    def summary(self, seconds):
        parts = [f"{self.total} files", f"{self.written} precompressed files written",
                 f"{self.fresh} up to date", f"{self.larger} not smaller"]
        if self.pruned:
            parts.append(f"{self.pruned} pruned")
        parts.append(f"{len(self.errors)} errors")
        return f"{', '.join(parts)}, in {seconds:.1f} s"

    def report(self, seconds):
        """The summary, and the savings of all precompressed files, including those of earlier
        runs."""
        lines = [self.summary(seconds)]
        for extension, coding in sorted(self.codings.items()):
            lines.append(f"{extension:5}{coding.files:7} files: {coding.bytes_in} bytes became "
                         f"{coding.bytes_out}: {saved_percent(coding):.1f} % saved")
        return "\n".join(lines)


def saved_percent(coding):
    return 100 * (1 - coding.bytes_out / coding.bytes_in)
