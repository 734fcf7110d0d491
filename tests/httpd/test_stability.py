"""docs/manual/stability.md names each name that users see, and none that is not there."""

import re
import subprocess

import pytest

from kit import env
from test_manual import MANUAL, ROOT

PAGE = (MANUAL / "stability.md").read_text()
STABLE, NOT_STABLE = PAGE.split("\n## Not stable\n")


def named(text, pattern):
    return set(re.findall(rf"`({pattern})`", text))


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
    sources = "".join(path.read_text() for path in sorted((ROOT / "src/httpd").rglob("*.[ch]")))
    literal = set(re.findall(r'"(elastic-[a-z]+)"', sources))
    explained = set(re.findall(r"`(elastic-[a-z]+)`", (MANUAL / "status.md").read_text()))
    assert literal <= named(STABLE, r"elastic-[a-z]+") <= literal | explained | \
        {"elastic-status", "elastic-metrics"}  # made of two strings


def test_the_module_exports_these_symbols():
    seen = subprocess.run(["nm", "-D", "--defined-only", env.MODULE], capture_output=True, text=True,
                          check=True)
    assert {line.split()[-1] for line in seen.stdout.splitlines()} == \
        named(STABLE, r"[a-z]+_module")


@pytest.mark.parametrize("kind, pattern", [("SetOutputFilter", r"[A-Z_]{4,}"),
                                           ("SetHandler", r"elastic-(?:status|metrics)")])
def test_httpd_knows_the_filters_and_handlers(httpd, kind, pattern):
    names = named(STABLE, pattern)
    assert len(names) >= 2
    server = httpd("".join(f"<Location /{name}>\n{kind} {name}\n</Location>\n" for name in names),
                   records=("elastic", "deflate", "brotli"), files={f"{name}": b"x" for name in names})
    for name in names:
        assert server.get(f"/{name}").status == 200
