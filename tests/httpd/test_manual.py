"""The manual: it has the module's directives, httpd accepts its configurations, and its prose is
plain."""

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kit import env, messages

ROOT = Path(__file__).parents[2]
MANUAL = ROOT / "docs" / "manual"
PAGES = sorted(MANUAL.glob("*.md"))
FRONT = [*PAGES, ROOT / "README.md", ROOT / "SECURITY.md"]
DIRECTIVES = (MANUAL / "directives.md").read_text()
RECORDS = ("elastic", "deflate", "brotli")

# The modules that the pages' configurations need beside the kit's own.
MODULES = ("authz_host", "authn_core", "authn_file", "auth_basic", "authz_user", "rewrite", "filter", "substitute", "proxy", "proxy_http", "proxy_fcgi",
           "proxy_balancer", "slotmem_shm", "lbmethod_byrequests", "cache", "cache_disk", "status",
           "info", "remoteip", "socache_shmcb", "socache_redis", "socache_memcache")

# Folders of an installed httpd, and their replacements in the test server.
FOLDERS = {"/etc/apache2/": "etc", "/var/cache/apache2/": "cache"}

# Contexts of a directive that configtest can check without a request.
SECTIONS = {
    "virtual host": "<VirtualHost *:1>\n%s\n</VirtualHost>\n",
    "directory": "<Directory /nowhere>\n%s\n</Directory>\n",
}

# What a directive's section has behind its table.
PARTS = ("What it is for", "When to change it", "Example", "Surprises", "See also")

# Words that only this project's own sources use, or that the field has another word for:
# precompressed file, level, cached, popular, repeated responses.
PRIVATE = ("sibling", "ladder", "rung", "crowd", "kept", "stampede", "doorkeeper", "door", "seat",
           "desk", "parcel", "hot", "unmade", "revisit", "come again", "comes again")
# Other words for the level, which the pages no longer have, but for elasticd's file and where
# tuning.md says what the level follows.
RETIRED = ("effort", "setup", "price", "position")
FIXED = r"(?ms)\bposition files?\b|^## Control by CPU load\n.*?(?=^## )"
# Programs whose help texts users read.
PROGRAMS = ("check", "compare", "dictionary", "mutants", "precompress", "run", "why")
MESSAGES = "\n## Messages\n"  # begin with names of directives
WORDS_MOST = 35  # of a sentence
COLUMNS = 100

FENCE = re.compile(r"(?ms)^ *```.*?^ *```$")


def prose(page, but=r"(?!)"):
    """The sentences of a page: of paragraphs, items of lists, cells of tables, headings. What
    stands in code counts as one word, a link as its text."""
    text = re.sub(but, "", FENCE.sub("", page.read_text()))
    text = re.sub(r"(?m)^(#+ .*)$", r"\n\1\n", text)
    text = re.sub(r"(?m)^ *(?:[-*]|\d+\.) ", "\n", text)
    for block in re.split(r"\n\s*\n", text):
        for part in re.split(r"(?<!\\)\|", block) if block.lstrip()[:1] == "|" else [block]:
            part = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", part))
            yield from re.split(r"(?<=[.!?])[)*]*\s+", part)


def sections():
    """{directive: ({row of its table: value}, [(label, text) of each part])}"""
    found = {}
    for name, text in re.findall(r"(?ms)^## (\w+)\n(.*?)(?=^## |\Z)", DIRECTIVES):
        rows = re.findall(r"(?m)^\| (\w[\w, ]*) \| (.*?) \|$", text.partition("\n\n")[0])
        split = re.split(r"(?m)^\*\*([^*\n]+)\.\*\*", text)
        if rows:
            found[name] = ({row: value.replace("\\|", "|") for row, value in rows},
                           list(zip(split[1::2], split[2::2])))
    return found


def pieces():
    """The configurations in README and the manual, including commented-out lines."""
    for page in [ROOT / "README.md", *PAGES]:
        text = page.read_text()
        for match in re.finditer(r"(?ms)^ *```(?:apache|conf)\n(.*?)^ *```$", text):
            line = text.count("\n", 0, match.start()) + 1
            piece = re.sub(r"(?m)^(\s*)#(?=\w)", r"\1", match[1])
            yield pytest.param(piece, id=f"{page.name}:{line}")


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared("<Location /info>\nSetHandler server-info\n</Location>\n", modules=MODULES,
                        records=RECORDS)


def test_each_directive_has_a_section_and_each_section_a_directive(server):
    """It has the rows of httpd's own manual, without the module's, and its labelled parts in order:
    none is empty, the purpose is short, and the example has the directive. The page's opening leads
    to each."""
    listed = set()
    for record in RECORDS:
        page = server.get(f"/info?mod_{record}.c").body.decode()
        part = page[page.index("Module Directives:"):]
        part = re.sub(r"<[^>]*>", " ", part[:part.index("Current Configuration:")])
        listed |= set(re.findall(r"(?m)\b((?:Elastic|Deflate|Brotli)\w*) -", html.unescape(part)))
    assert len(listed) > 30 and set(sections()) == listed
    opening = DIRECTIVES.partition("\n## Rules for all of them\n")[0]
    for name, (rows, parts) in sections().items():
        assert f"[{name}](#{name.lower()})" in opening, name
        assert list(rows) == ["Description", "Syntax", "Default", "Context",
                              *["Override"] * (".htaccess" in rows["Context"])], name
        assert rows["Syntax"].startswith(f"`{name} "), name
        assert rows["Default"].startswith(f"`{name} ") or "`" not in rows["Default"], name
        assert tuple(label for label, _ in parts) == PARTS, name
        assert all(re.search(r"\w", FENCE.sub("", text)) for _, text in parts), name
        purpose = re.sub("`[^`]*`", "code", parts[0][1].strip().partition("\n\n")[0])
        assert len(re.findall(r"\.(?=\s|$)", purpose)) in (1, 2), (name, purpose)
        examples = re.findall(r"(?ms)^```apache\n(.*?)^```$", parts[2][1])
        assert len(examples) == 1 and re.search(rf"(?m)^\s*{name} ", examples[0]), name


def test_defaults_and_contexts_are_those_of_the_directives(httpd):
    """httpd checks the context before the value."""
    server = httpd("", start=False, records=RECORDS)
    lines = [rows["Default"].strip("`") for rows, _ in sections().values()
             if rows["Default"].startswith("`")]
    if not env.HAS_ZSTD:
        lines = [line.replace(" zstd", "") for line in lines]
    server.configure("\n".join(lines))
    ok, said = server.configtest()
    assert ok and "elastic:" not in said, said
    for name, (rows, _) in sections().items():
        for context, section in SECTIONS.items():
            server.configure(section % f"{name} a b c d e")
            ok, said = server.configtest()
            refused = "not allowed in" in said or "cannot occur within" in said
            assert not ok and refused == (context not in rows["Context"]), (name, context, said)


def test_each_key_of_the_status_page_is_explained(server):
    """ElasticFollows only exists with ElasticControl external. Each reason has a section."""
    status = server.status()
    reasons = [key.split("-", 1)[1] for key in status if key.startswith("ElasticSkipped-")]
    text = (MANUAL / "troubleshooting.md").read_text()
    assert sorted(re.findall(r"(?m)^### (.*)$", text)) == sorted(reasons)
    rows = re.findall(r"(?m)^\| (`Elastic.*?) \|", (MANUAL / "status.md").read_text())
    explained = {re.sub(r"-.*", "", key) for key in re.findall(r"`(\w+[-<>\w]*)`", "".join(rows))}
    some = {"ElasticFollows"}
    assert some <= explained and explained - some == {re.sub(r"-.*", "", key) for key in status}


@pytest.mark.parametrize("piece", pieces())
def test_httpd_takes_the_configurations_of_the_manual(httpd, piece):
    server = httpd("", start=False, modules=MODULES, records=RECORDS,
                   environ={"APACHE_LOG_DIR": "logs"})
    for name in ("logs", *FOLDERS.values(), "cache/dictionaries"):
        (server.root / name).mkdir()
    (server.root / "cache" / "dictionaries").chmod(0o777)
    (server.root / "etc" / "site.dict").write_bytes(b"what pages share")
    key = server.root / "etc" / "elastic.key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    for folder, name in FOLDERS.items():
        piece = piece.replace(folder, f"{server.root}/{name}/")
    server.configure(piece)
    ok, said = server.configtest()
    assert ok and "elastic:" not in said, said


def test_no_configuration_is_left_out():
    """A block of directives is marked as one."""
    for page in [ROOT / "README.md", *PAGES]:
        for kind, block in re.findall(r"(?ms)^ *```(\w*)\n(.*?)^ *```$", page.read_text()):
            named = re.search(r"(?m)^\s*(?:Elastic\w* |<[A-Z])", block)
            assert kind in ("apache", "conf", "sh") or not named, (page.name, block)
    assert len([*pieces()]) > 25


def test_httpd_takes_the_directives_in_sentences(httpd):
    found = {}
    for page in PAGES:
        text = page.read_text().partition(MESSAGES)[0]
        text = re.sub(r"(?m)^\| (?:Syntax|Default) .*$", "", FENCE.sub("", text))
        for code in re.findall(r"`((?:Elastic|Deflate|Brotli)\w* [^`]*)`", text):
            found[re.sub(r"\s+", " ", code)] = page.name
    assert len(found) > 30
    server = httpd("", start=False, modules=MODULES, records=RECORDS)
    for line, name in found.items():
        server.configure(line + "\n")
        ok, said = server.configtest()
        assert ok and "elastic:" not in said, (name, line, said)


def anchors(page):
    """The anchors of a page's headings as GitHub makes them, or those of an HTML page."""
    if page.suffix == ".html":
        return set(re.findall(r'id="([^"]*)"', page.read_text()))
    names = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in names}


def test_links_lead_to_a_page_and_its_heading():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            path, _, anchor = link.partition("#")
            if not re.match(r"\w+:", link):
                target = page.parent / path if path else page
                assert target.exists(), (page.name, link)
                assert not anchor or anchor in anchors(target), (page.name, link)


def is_plain(text, *private):
    return not re.search(r"\b(?:%s)s?\b" % "|".join((*PRIVATE, *private)), text, re.IGNORECASE)


def test_prose_is_plain():
    """Sentences are short, words are those of the field, and the level has one name. Lines are
    short, except in table rows and program output."""
    found = [(page, sentence) for page in PAGES for sentence in prose(page)]
    assert len(found) > 1500
    for page, sentence in found:
        assert len(re.findall(r"\S*\w\S*", sentence)) <= WORDS_MOST, (page.name, sentence)
    assert not is_plain("The two setups differ.", *RETIRED)
    for page in FRONT:
        for sentence in prose(page):
            assert is_plain(sentence), (page.name, sentence)
        for sentence in prose(page, FIXED):
            assert is_plain(sentence, *RETIRED), (page.name, sentence)
    for page in PAGES:
        for line in FENCE.sub("", page.read_text()).splitlines():
            assert len(line) <= COLUMNS or line.startswith("|"), (page.name, line)


def test_messages_and_help_texts_have_words_of_the_field(server):
    texts = [message.text for message in (*messages.module(), *messages.elasticd())]
    listed = server.command("-L").stdout
    texts += [text for name, text in re.findall(r"(?m)^(\w+) \(.*\n\t(.*)$", listed)
              if name.startswith(("Elastic", "Deflate", "Brotli"))]
    for name in PROGRAMS:
        path = ROOT / "scripts" / name
        python = [sys.executable] * ("python" in path.read_text().partition("\n")[0])
        done = subprocess.run([*python, path, "--help"], capture_output=True, text=True)
        assert done.returncode == 0 and "usage" in done.stdout, (name, done.stderr)
        texts.append(done.stdout)
    assert len(texts) > 150
    assert [text for text in texts if not is_plain(text)] == []


def test_the_types_that_are_compressed_by_default_are_listed():
    source = (ROOT / "src" / "core" / "http.c").read_text()
    types = {"/".join(names) for names in re.findall(r'NAMES\("(.*?)", "(.*?)"\)', source)}
    text = DIRECTIVES.partition("\n## ElasticTypes\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| ((?:`[^`]*/[^`]*`(?:, )?)+) \|", text)
    listed = [name for row in rows for name in re.findall("`(.*?)`", row)]
    assert len(listed) == len(types) and set(listed) == types


def test_each_message_is_explained():
    text = (MANUAL / "troubleshooting.md").read_text().partition(MESSAGES)[2]
    listed = [code for row in re.findall(r"(?m)^\| (`.*?) \|", text)
              for code in re.findall(r"`([^`]*)`", row)]
    logged = [message.shown for message in (*messages.module(), *messages.elasticd())
              if message.logged]
    assert [line for line in logged if not line.startswith(tuple(listed))] == []
    assert [code for code in listed if not any(line.startswith(code) for line in logged)] == []


def test_the_layout_has_a_line_for_each_file():
    """The header or the .c file of a pair counts; in the core, the header."""
    text = (ROOT / "docs" / "internals" / "layout.md").read_text()
    named = {name.partition(".")[0] for name in re.findall(r"\b\w+\.[ch]\b", text)}
    files = [*(ROOT / "src").rglob("*.[ch]"), *(ROOT / "include" / "elastic").glob("*.h")]
    assert {file.stem for file in files} == named


def test_the_functions_and_tests_that_the_internals_name_exist():
    internals = ROOT / "docs" / "internals"
    named = re.findall(r"`(\w+)\(\)`\s+\(`([\w/]+\.c)`", (internals / "walk.md").read_text())
    assert len(named) > 15
    for function, name in named:
        path = ROOT / name if name.startswith("src/") else ROOT / "src" / "httpd" / name
        assert re.search(rf"(?m)^\w[\w *]*\b{function}\(", path.read_text()), (function, name)
    named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", (internals / "threats.md").read_text())
    assert named
    for file, test in named:
        source = "".join(path.read_text() for folder in ("httpd", "bench")
                         for path in (ROOT / "tests" / folder).glob(file))
        assert source, file
        assert not test or f"\ndef {test}(" in source, f"{file}::{test}"
