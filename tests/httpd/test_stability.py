"""docs/manual/stability.md names each name that users see, and none that is not there."""

import re
import signal
import socket
import subprocess
import sys

import pytest

from kit import env
from test_manual import MANUAL, ROOT

PAGE = (MANUAL / "stability.md").read_text()
STABLE, NOT_STABLE = PAGE.split("\n## Not stable\n")
SOURCES = "".join(path.read_text() for folder in ("include", "src")
                  for path in sorted((ROOT / folder).rglob("*.[ch]")))


def named(text, pattern):
    return set(re.findall(rf"`({pattern})`", text))


def row(what):
    [text] = re.findall(rf"(?m)^\| {what} \| (.*) \|$", STABLE)
    return named(text, "[^`]+")


def test_each_status_key_is_on_one_side(httpd):
    server = httpd("Elastic On\nElasticMaxMemory 64M\n")
    keys = {re.sub(r"^(Elastic(?:PrecompressedSkipped|Skipped|DictionaryAsked))-.*", r"\1-<reason>",
                   re.sub(r"^ElasticCost-.*", "ElasticCost-<coding>-<level>", key))
            for key in server.status() if key.startswith("Elastic")}
    pattern = r"Elastic[A-Z][A-Za-z]*(?:-<[a-z]+>)*(?:-<level>)?"
    stable, other = named(STABLE, pattern), named(NOT_STABLE, pattern)
    assert not stable & other
    # One key is there only beside elasticd.
    assert (stable | other) - {"ElasticFollows"} == keys


def test_notes_handlers_and_mutex_are_those_of_the_sources():
    literal = set(re.findall(r'"(elastic-[a-z]+)"', SOURCES))
    explained = set(re.findall(r"`(elastic-[a-z]+)`", (MANUAL / "status.md").read_text()))
    assert literal <= named(STABLE, r"elastic-[a-z]+") <= literal | explained | \
        {"elastic-status", "elastic-metrics"}  # made of two strings


def test_environment_variables_and_fields_are_those_of_the_sources():
    read = set(re.findall(r'apr_table_get\(r->subprocess_env, "([^"]+)"\)', SOURCES))
    assert read - {"cache-hit"} == row("environment variables of a request")  # mod_cache's
    assert set(re.findall(r'"(Elastic-[A-Z][a-z]+)"', SOURCES)) == \
        row("fields of responses") | named(NOT_STABLE, "Elastic-[A-Z][a-z]+")


def test_metrics_that_belong_to_no_key_are_named():
    """test_metrics.py holds these tables against the module."""
    own = re.findall(r"(?m)^\| `(elastic_\w+)`", (MANUAL / "metrics.md").read_text())
    ends = row("metrics")
    assert {next((end for end in ends if name.startswith(end.rstrip("…"))), name)
            for name in own} == ends


def test_all_that_know_the_position_file_know_its_version():
    [version] = re.findall(r"#define EL_POSITION_VERSION (\d+)", SOURCES)
    for path, line in (("docs/internals/control.md", "version: {} |"),
                       ("plugins/php/elastic.php", "const ELASTIC_VERSION = {};"),
                       ("plugins/python/elastic_compress/position.py", "\nVERSION = {}\n")):
        assert line.format(version) in (ROOT / path).read_text(), path


# test_precompress.py interrupts elastic-precompress, test_elasticd.py elasticd.
@pytest.mark.parametrize("program, words", [
    ("why", []), ("dictionary", ["check"]), ("precompress", None), ("elasticd", None)])
def test_exit_statuses_are_those_of_the_page(program, words):
    command = [env.ELASTICD] if program == "elasticd" else \
        [sys.executable, ROOT / "scripts" / program]
    for option, status in (("--help", 0), ("--no-such-option", 2)):
        assert subprocess.run([*command, option], capture_output=True).returncode == status
    if words is not None:
        # A server that does not answer.
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            with subprocess.Popen([*command, *words, url], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE) as asking:
                with silent.accept()[0]:
                    asking.send_signal(signal.SIGINT)
                    errors = asking.communicate(timeout=60)[1]
        assert asking.returncode == 130 and b"interrupted" in errors, errors


def test_the_module_exports_these_symbols():
    seen = subprocess.run(["nm", "-D", "--defined-only", env.MODULE], capture_output=True, text=True,
                          check=True)
    assert {line.split()[-1] for line in seen.stdout.splitlines()} == \
        named(STABLE, r"[a-z]+_module")


@pytest.mark.parametrize("kind, what", [("SetOutputFilter", "filters"), ("SetHandler", "handlers")])
def test_httpd_knows_the_filters_and_handlers(httpd, kind, what):
    names = row(f"{what} for `{kind}`[^|]*")
    assert len(names) >= 2
    server = httpd("".join(f"<Location /{name}>\n{kind} {name}\n</Location>\n" for name in names),
                   records=("elastic", "deflate", "brotli"), files={f"{name}": b"x" for name in names})
    for name in names:
        assert server.get(f"/{name}").status == 200
