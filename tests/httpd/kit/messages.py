"""The messages of the module and elasticd: the texts in their sources, and those that the tests
have seen. A plugin of pytest.

A text of three words or more that may get into an error log, to a terminal or to syslog is a
message. see() gets the output of the programs under test. A run of all tests fails if a message was
not seen, unless UNSEEN gives a reason.
"""

import functools
import os
import re
import tempfile
from pathlib import Path

import pytest

from . import env, faults

ROOT = Path(__file__).parents[3]
FILE = "ELASTIC_MESSAGES"  # each process of pytest adds the messages that it has seen to this file

# The beginnings of messages that no test can rely on, with the reason.
UNSEEN = {
    "%s is not built in": "only a build without zstd says it",
    "%s ends at level %d": "only a build without libdeflate says it",
    "no timer": "Debian's httpd has mod_watchdog built in",
    "has the position": "only elasticd --show says it",
    "its provider cannot start": "a provider of httpd fails that has taken its arguments",
    "the address cannot be made": "memory is short",
    "elasticd: it cannot go to the background": "fork fails",
}

_RUN = r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*'  # joined by the compiler
_LOGGED = re.compile(r'\b(?:ap_log_r?error|el_warn|el_argument_advise|return apr_psprintf|say'
                     rf'|elasticd_say|fprintf)\([^;"]*({_RUN})')
# The literals of a source, except those of assertions, macros and the tables of directives.
_TEXTS = re.compile(rf"({_RUN})|/\*.*?\*/|'\\?.'|\b(?:_S|s)tatic_assert\(.*?\);"
                    r"|\bconst command_rec .*?\n};|#define (?:[^\n]*\\\n)*[^\n]*", re.S)
_VALUE = re.compile(r"%[-.\d]*l?l?[a-z]")


class Message:
    def __init__(self, text, logged):
        self.text = text
        self.logged = logged  # or a part of such messages
        self.longest = max(re.split(rf"{_VALUE.pattern}|\n", text), key=len)
        self.pattern = re.compile(".*?".join(
            re.escape(part).replace("\\\n", r"\s*") for part in _VALUE.split(text)))

    @property
    def shown(self):
        """As in the manual."""
        return _VALUE.sub("…", re.sub(r"^elasticd?: ", "", self.text)).strip()

    def is_in(self, said):
        return self.longest in said and self.pattern.search(said) is not None


def _joined(run):
    return re.sub(r'"\s*"', "", run)[1:-1].replace("\\n", "\n").replace('\\"', '"')


def _messages(source):
    source = source.replace("APR_UINT64_T_FMT", '"lu"')
    logged = {_joined(run) for run in _LOGGED.findall(source)}
    for text in map(_joined, filter(None, _TEXTS.findall(source))):
        words = [word for word in text.split() if re.search("[A-Za-z]{2}", word)]
        if len(words) >= 3 or len(words) == 2 and text.startswith("elastic: "):
            yield Message(text, text in logged)


def _table(header, name):
    """The rows of such a macro, which is in no function."""
    text = (ROOT / "include" / "elastic" / header).read_text()
    return re.search(rf"#define {name}\(X\)((?:.*\\\n)+.*)", text)[1].replace("\\\n", "\n")


@functools.cache
def module():
    """The messages of the module. On its pages, only log lines are messages."""
    # After its faults of patterns, this file has texts of files.
    core = [(ROOT / "src" / "core" / "dictionary.c").read_text().partition("#define TITLE")[0],
            _table("counters.h", "EL_PRECOMPRESSED_FAULTS"),
            _table("control.h", "EL_POSITION_VERDICTS")]
    files = sorted((ROOT / "src" / "httpd").rglob("*.c"))
    found = [message for text in core for message in _messages(text)]
    found += [message for path in files for message in _messages(path.read_text())
              if path.parent.name != "status" or message.text.startswith("elastic: ")]
    return list({message.text: message for message in found}.values())


@functools.cache
def elasticd():
    return [message for path in sorted((ROOT / "src" / "tools").glob("*.c"))
            for message in _messages(path.read_text())]


@functools.cache
def _pending():
    return {message.text: message for message in (*module(), *elasticd())}


def see(said):
    """Notes the messages in a program's output, if the run collects them."""
    if FILE in os.environ:
        for message in [message for message in _pending().values() if message.is_in(said)]:
            del _pending()[message.text]
            with open(os.environ[FILE], "a") as file:
                file.write(message.text + "\0")


# --- the plugin

_MISSING = pytest.StashKey()


def _expected(config):
    """The messages that this run must see: those of all tests, if none was left out."""
    option, here = config.option, config.invocation_params.dir
    if option.keyword or option.markexpr not in ("", "not alone") or option.collectonly \
            or {Path(arg).resolve() for arg in config.args} != {here}:
        return []
    if here.name == "elasticd":
        return elasticd()
    every = here.name == "httpd" and env.MPM == "event" and env.IS_ROOT and env.IS_DEBIAN \
        and not env.PRELOAD and env.HAS_ISAL and env.HAS_LIBDEFLATE and env.HAS_ZSTD \
        and faults.reach_apr_util()
    return module() if every else []


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        handle, os.environ[FILE] = tempfile.mkstemp(prefix="elastic-messages-")
        os.close(handle)


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        os.unlink(os.environ.pop(FILE))


def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput") or session.testsfailed:
        return
    seen = Path(os.environ[FILE]).read_text().split("\0")
    session.config.stash[_MISSING] = missing = [
        message.text for message in _expected(session.config)
        if message.text not in seen and not message.text.startswith(tuple(UNSEEN))]
    if missing:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    for text in config.stash.get(_MISSING, []):
        terminalreporter.line(f"FAIL: no test has seen the message {text!r}")
