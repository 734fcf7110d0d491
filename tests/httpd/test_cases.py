"""The dialogues of tests/cases, or those named by ELASTIC_CASES (`scripts/check --case FILE...`).

A case is a text file that somebody who reports a fault can write: docs/manual/troubleshooting.md
has one. Its sections begin with `== `:

    == config               for httpd; LoadModule lines name the modules that it needs
    == file NAME [*N] [gzip]  below the document root; N times its text, compressed
    == script NAME          a CGI script: its first line says what runs it
    == log PATTERN          a line that the error log must have; others of warnings fail the case
    == request              `GET /path [HTTP/1.0]`, fields, an empty line, a body; {ETag} is that
                            field of the answer before
    == answer               the status, fields, an empty line, the decoded body

In fields and bodies of answers `*` stands for any text, and `\\*` for itself. A field without a
value must not be there, and those that are not named may have any value. A body `@NAME` is that of
a file. `arrives TEXT` among the fields: the text has to come before the script goes on, which it
does when there is a file `arrived` in the document root.
"""

import dataclasses
import difflib
import gzip
import os
import re
import shlex
from pathlib import Path

import pytest

from kit import Response

CASES = Path(__file__).resolve().parents[1] / "cases"
PROTOCOLS = {"HTTP/1.0": "http/1.0", "HTTP/1.1": "http/1.1", "HTTP/2": "h2c"}
RECORDS = ("elastic", "deflate", "brotli")


class Wrong(Exception):
    """The file is no case."""


@dataclasses.dataclass
class Step:
    line: int
    request: list
    answer: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Case:
    config: str = ""
    files: dict = dataclasses.field(default_factory=dict)
    scripts: dict = dataclasses.field(default_factory=dict)
    logs: list = dataclasses.field(default_factory=list)
    steps: list = dataclasses.field(default_factory=list)


def sections(text):
    """(line number, words of the title, lines) of each section."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("== "):
            found.append((number, shlex.split(line[3:]), []))
        elif found:
            found[-1][2].append(line)
        elif line.strip() and not line.startswith("#"):
            raise Wrong(f"line {number} stands before the first section")
    return found


def content(lines, options):
    """The bytes of a file with the options of its title."""
    data = "".join(f"{line}\n" for line in lines).encode()
    for option in options:
        if re.fullmatch(r"\*\d+", option):
            data *= int(option[1:])
        elif option == "gzip":
            data = gzip.compress(data, mtime=0)
        else:
            raise Wrong(f"'{option}' is neither *N nor gzip")
    return data


def parse(text):
    case = Case()
    for number, title, lines in sections(text):
        kind, *words = title or [""]
        while lines and not lines[-1]:
            lines.pop()
        try:
            if kind == "config":
                case.config += "\n".join(lines) + "\n"
            elif kind == "file":
                case.files[words[0]] = content(lines, words[1:])
            elif kind == "script":
                case.scripts[words[0]] = content(lines, [])
            elif kind == "log":
                case.logs.append(" ".join(words))
            elif kind == "request":
                case.steps.append(Step(number, lines))
                lines[0].split()[1]  # a method and a path
            elif kind == "answer" and not case.steps[-1].answer and int(lines[0]):
                case.steps[-1].answer = lines
            else:
                raise Wrong(f"'{kind}' is no section here")
        except (IndexError, ValueError, Wrong) as error:
            raise Wrong(f"line {number}: == {kind}: {error}") from error
    if not case.steps or not all(step.answer for step in case.steps):
        raise Wrong("each request needs an answer, and there has to be one")
    return case


def halves(lines):
    """The lines before the first empty one, and the text after it; None if there is no such
    line."""
    if "" not in lines:
        return lines, None
    end = lines.index("")
    return lines[:end], "\n".join(lines[end + 1:])


def matches(pattern, text):
    parts = re.split(r"(?<!\\)\*", pattern)
    return re.fullmatch(".*".join(re.escape(part.replace(r"\*", "*")) for part in parts), text,
                        re.S)


def start(httpd, case):
    """A server for the case. Its LoadModule lines only say which modules it needs."""
    loads = re.findall(r"(?m)^\s*LoadModule\s+(\w+?)_module\b.*\n", case.config)
    config = re.sub(r"(?m)^\s*LoadModule\s.*\n", "", case.config)
    records = [name for name in loads if name in RECORDS] or ["elastic"]
    server = httpd(config, start=False, records=records, files=case.files,
                   modules=[name for name in loads if name not in RECORDS],
                   h2=any("HTTP/2" in step.request[0] for step in case.steps))
    for name, data in case.scripts.items():
        os.chmod(server.write(name, data), 0o755)
    return server.start()


def ask(server, step, last):
    """The answer to a step's request."""
    fields, body = halves([re.sub(
        r"\{([A-Z][\w-]*)\}", lambda found: last.headers.get(found[1], ""), line)
        for line in step.request])
    method, path, *version = fields[0].split()
    pairs = [tuple(part.strip() for part in line.split(":", 1)) for line in fields[1:]]
    protocol = PROTOCOLS[version[0] if version else "HTTP/1.1"]
    awaited = [line[8:] for line in step.answer if line.startswith("arrives ")]
    if not awaited:
        return server.get(path, None, pairs, method, (body or "").encode(), protocol)
    with server.stream(path, None, pairs, protocol) as stream:
        for text in awaited:
            stream.wait_for(text.encode(), 30)
        server.write("arrived", b"")
        stream.read_all()
        return stream.response


def differences(case, step, answer, decoded):
    """What is wrong with an answer, as lines."""
    fields, body = halves(step.answer)
    if int(fields[0]) != answer.status:
        yield f"status: expected {fields[0]}, got {answer.status}"
    for line in fields[1:]:
        if line.startswith("arrives "):
            continue
        name, _, value = (part.strip() for part in line.partition(":"))
        got = answer.headers.get(name)
        if not value and got is not None:
            yield f"{name}: expected none, got {got}"
        elif value and (got is None or not matches(value, got)):
            yield f"{name}: expected {value}, got {'none' if got is None else got}"
    if body is None:
        return
    if body.startswith("@"):
        if body[1:] not in case.files:
            raise Wrong(f"line {step.line}: there is no file '{body[1:]}'")
        body = case.files[body[1:]].decode().replace("*", r"\*")
    text = decoded.decode(errors="backslashreplace")
    if not matches(body.rstrip("\n"), text.rstrip("\n")):
        yield "body:"
        wanted = body.replace(r"\*", "*").splitlines()
        lines = list(difflib.unified_diff(wanted, text.splitlines(), "expected", "got", n=1,
                                          lineterm=""))
        yield from lines[:20]


def play(httpd, path):
    """The first step of a case that fails, as text; empty if none does."""
    case = parse(path.read_text(encoding="utf-8"))
    server = start(httpd, case)
    last = None
    for step in case.steps:
        answer, decoded, found = None, b"", []
        try:
            answer = last = ask(server, step, last)
            # An answer without a body may have a coding, but it must not break off.
            decoded = answer.body if answer.raw or not answer.complete else b""
        except Exception as error:  # of a connection, a decoder, or a text that does not come
            found = [f"{type(error).__name__}: {error}"]
        found += differences(case, step, answer, decoded) if answer else []
        if found:
            said = f"HTTP {answer.status}\n{answer.headers}" if answer else "none"
            return (f"{path}, line {step.line}: {step.request[0]}\n  " + "\n  ".join(found)
                    + "\n\nThe whole answer:\n  " + said.replace("\n", "\n  "))
    for pattern in case.logs:
        server.expect_log(pattern)
        server.wait_log(pattern)
    return ""


def chosen():
    named = [Path(name) for name in os.environ.get("ELASTIC_CASES", "").split("\n") if name]
    return named or sorted(CASES.glob("*.case"))


@pytest.mark.parametrize("path", chosen(), ids=lambda path: path.name)
def test_a_reported_dialogue(httpd, path):
    try:
        fault = play(httpd, path)
    except Wrong as error:
        fault = f"{path}: {error}"
    if fault:
        pytest.fail(fault, pytrace=False)


PAGE = """\
== config
Elastic On
== file page.html *400
A line.
== request
GET /page.html
Accept-Encoding: gzip
== answer
"""


@pytest.mark.parametrize("answer, words", [
    ("404", ["status: expected 404, got 200"]),
    ("200\nVary:", ["Vary: expected none, got Accept-Encoding"]),
    ("200\nX-Other: *", ["X-Other: expected *, got none"]),
    ("200\nContent-Encoding: br", ["Content-Encoding: expected br, got gzip"]),
    ("200\n\nA line.\nAnother", ["body:", "-Another", "+A line."]),
    ("200\narrives Another", ["Incomplete: the stream ended without b'Another'"])])
def test_what_differs_is_told(httpd, tmp_path, answer, words):
    path = tmp_path / "wrong.case"
    path.write_text(PAGE + answer)
    told = play(httpd, path)
    assert all(f"\n  {word}" in told for word in words), told
    assert told.startswith(f"{path}, line 5: GET /page.html\n")


def test_an_answer_that_breaks_off_before_its_body_is_told(httpd, tmp_path, monkeypatch):
    path = tmp_path / "cut.case"
    path.write_text(PAGE + "200")
    monkeypatch.setitem(globals(), "ask", lambda *_: Response.of(200, {}, complete=False))
    assert "Incomplete: the message ended after 0 bytes" in play(httpd, path)


@pytest.mark.parametrize("text", [
    "", "x\n" + PAGE + "200", PAGE, PAGE + "ok", "== answer\n200",
    "== request\nGET\n== answer\n200", PAGE + "200\n== answer\n200", "== bla", "== ", "== file x bzip2\nx", "== file"])
def test_what_is_no_case(text):
    with pytest.raises(Wrong):
        parse(text)


def test_the_example_of_the_manual(httpd, tmp_path):
    page = CASES.parents[1] / "docs" / "manual" / "troubleshooting.md"
    path = tmp_path / "report.case"
    path.write_text(re.search(r"(?ms)^cat >report.case <<'END'\n(.*?)^END$", page.read_text())[1])
    assert play(httpd, path) == ""
