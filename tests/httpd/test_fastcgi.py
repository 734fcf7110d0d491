"""PHP behind mod_proxy_fcgi: a real php-fpm, whose pages are flushed, conditional, encoded by PHP
itself, or end too early."""

import contextlib
import pytest

from kit import bodies, check
from kit.client import Incomplete
from kit.fpm import Fpm
from kit.proxied import EACH, EACH_OWN, WAYS, locations, start

LOG = r"\[proxy(_fcgi)?:\w+\]"

# Gives `size` bytes of the same text as bodies.text, from a file beside it.
SIZED = """<?php
header('Content-Type: text/plain');
if (isset($_GET['length'])) header('Content-Length: ' . $_GET['size']);
echo substr(file_get_contents(getenv('KIT') . '/docs/text.bin'), 0, (int)$_GET['size']);
"""

# Below, a script that waits for the test before it goes on.
WAIT = """
function await($step) {
    for ($turn = 0; $turn < 1000 && !file_exists(getenv('KIT') . "/steps/$step"); $turn++) {
        clearstatcache();
        usleep(10000);
    }
}
"""

PARTS = "<?php" + WAIT + """
header('Content-Type: ' . $_GET['type']);
for ($n = 0; $n < 4; $n++) {
    if ($n) await($n);
    echo str_repeat("part $n of the page\\n", (int)$_GET['times']), "<end $n>\\n";
    flush();
}
"""

SLOW = """<?php
header('Content-Type: text/html');
for ($n = 0; $n < 40; $n++) { echo "<p>line $n</p>\\n"; flush(); usleep(2000); }
"""

CONDITIONAL = """<?php
header('Content-Type: text/html');
header('ETag: "php"');
$named = array_map('trim', explode(',', $_SERVER['HTTP_IF_NONE_MATCH'] ?? ''));
if (in_array('"php"', $named) || in_array('*', $named)) { http_response_code(304); exit; }
echo str_repeat("<p>a page with a tag</p>\\n", 400);
"""
TAGGED = b"<p>a page with a tag</p>\n" * 400

POST = """<?php
header('Content-Type: text/plain');
echo file_get_contents('php://input');
"""

# Its first part is given away; then its process is gone.
KILLED = "<?php" + WAIT + """
header('Content-Type: text/plain');
echo substr(file_get_contents(getenv('KIT') . '/docs/text.bin'), 0, 50000);
flush();
if (isset($_GET['wait'])) await('seen');
exec('kill -9 ' . getmypid());
"""

FATAL = """<?php
header('Content-Type: text/plain');
if (isset($_GET['begun'])) { echo "the beginning\\n"; flush(); }
does_not_exist();
"""

ZLIB = """<?php
ini_set('zlib.output_compression', '1');
header('Content-Type: text/html');
echo str_repeat("<p>compressed by PHP</p>\\n", 2000);
"""
ZLIB_BODY = b"<p>compressed by PHP</p>\n" * 2000

PAGES = {"sized.php": SIZED, "parts.php": PARTS, "slow.php": SLOW, "conditional.php": CONDITIONAL,
         "post.php": POST, "killed.php": KILLED, "fatal.php": FATAL, "zlib.php": ZLIB,
         "status.php": "<?php header('Content-Type: text/html');\n"
                       "http_response_code((int)$_GET['status']);\n"
                       "if ($_GET['status'] != 204) echo str_repeat('<p>page</p>', 2000);\n",
         "encoded.php": "<?php header('Content-Type: text/html');\n"
                        "header('Content-Encoding: gzip');\n"
                        "echo gzencode(str_repeat('<p>by hand</p>', 2000));\n"}


@pytest.fixture(scope="module")
def server(httpd_shared):
    """Below /way/ through SetHandler, flushed; below /passed-way/ through ProxyPassMatch, not."""
    server = start(httpd_shared, "", ["proxy_fcgi"], start=False, tls=True, h2=True,
                          files={"text.bin": bodies.text(1 << 20), **PAGES})
    steps = server.root / "steps"
    steps.mkdir()
    steps.chmod(0o755)
    fpm = Fpm(server.root)
    server.configure(
        "KeepAliveTimeout 1\n"
        + "".join(f"ProxyPassMatch ^/passed-{way.name}/(.*\\.php)$ "
                f"unix:{fpm.socket}|fcgi://passed{{docs}}/$1\n" for way in WAYS)
        + f'<FilesMatch "\\.php$">\nSetHandler "{fpm.handler}"\n</FilesMatch>\n'
          '<Proxy "fcgi://localhost/">\nProxySet flushpackets=on\n</Proxy>\n'
        + "".join(f"Alias /{way.name}/ {{docs}}/\n" for way in WAYS)
        + locations() + locations(prefix="passed-"))
    server.start()
    yield server
    fpm.stop()


@pytest.mark.smoke
@pytest.mark.parametrize("prefix", ["", "passed-"])
@pytest.mark.parametrize("size", [120 * 1024, 1 << 20])
@EACH
def test_pages(server, way, coding, size, prefix, protocol):
    path = f"/{prefix}{way.name}/sized.php?size={size}"
    check.encoded(server.get(path, ae=coding, protocol=protocol), coding, bodies.text(size))
    check.plain(server.get(path, protocol=protocol), bodies.text(size))
    check.encoded(server.get(path + "&length", ae=coding, protocol=protocol), coding,
                  bodies.text(size))


@pytest.mark.smoke
@EACH_OWN
def test_small_pages(server, way, coding, protocol):
    """Where nothing is flushed, a page that fits a segment is held until it ends."""
    path = f"/passed-{way.name}/sized.php?size=700"
    for page in (path, path + "&length"):
        answer = server.get(page, ae=coding, protocol=protocol)
        check.plain(answer, bodies.text(700))
        assert server.reason(answer) == "small"
    # Where mod_proxy_fcgi flushes, it is not known what is still to come.
    check.encoded(server.get(way.path("sized.php?size=700"), ae=coding, protocol=protocol), coding,
                  bodies.text(700))


@EACH
def test_slow_pages_and_empty_ones(server, way, coding):
    body = b"".join(b"<p>line %d</p>\n" % n for n in range(40))
    for prefix in ("", "passed-"):
        answer = server.get(f"/{prefix}{way.name}/slow.php", ae=coding)
        assert answer.status == 200 and answer.body == body and answer.varies
    answer = server.get(way.path("sized.php?size=0"), ae=coding)
    assert (answer.status, answer.body, answer.complete) == (200, b"", True)


@pytest.fixture
def step(server):
    """step(name) lets a script go on that awaits it."""
    directory = server.root / "steps"
    yield lambda name: (directory / str(name)).touch()
    for file in directory.iterdir():
        file.unlink()


@pytest.mark.smoke
@pytest.mark.parametrize("type", ["text/event-stream", "text/html"])
@pytest.mark.parametrize("times", [1, 3000])
@EACH
def test_a_part_is_decodable_before_the_next_is_made(server, step, way, coding, times, type,
                                                     protocol):
    path = way.path(f"parts.php?times={times}&type={type}")
    with server.stream(path, ae=coding, protocol=protocol) as stream:
        assert (stream.status, stream.coding) == (200, coding)
        for n in range(4):
            stream.wait_for(b"<end %d>" % n, 5)
            step(n + 1)
        body = stream.read_all()
    assert body == b"".join(b"part %d of the page\n" % n * times + b"<end %d>\n" % n
                            for n in range(4))


# --- methods and statuses


@pytest.mark.smoke
@pytest.mark.parametrize("page", ["sized.php?size=50000", "sized.php?size=50000&length",
                                  "conditional.php", "zlib.php"])
@pytest.mark.parametrize("prefix", ["", "passed-"])
@EACH
def test_head_has_gets_header(server, way, coding, page, prefix, protocol):
    path = f"/{prefix}{way.name}/{page}"
    get, head = check.once(lambda: (server.get(path, ae=coding, protocol=protocol),
                                    server.head(path, ae=coding, protocol=protocol)),
                           check.same_length)
    assert head.status == 200
    check.head_of(get, head)


@EACH
def test_the_connection_stays_in_step(server, way, coding):
    with server.connect() as connection:
        for method, page in (("HEAD", "conditional.php"), ("GET", "conditional.php"),
                             ("HEAD", "sized.php?size=50000"), ("GET", "status.php?status=204"),
                             ("HEAD", "status.php?status=404")):
            connection.request(way.path(page), method, coding)
            answer = connection.request(way.path("conditional.php"), ae=coding)
            check.encoded(answer, coding, TAGGED)


@pytest.mark.smoke
@EACH
def test_answers_to_post(server, way, coding, protocol):
    body = bodies.text(100000)
    for prefix in ("", "passed-"):
        answer = server.get(f"/{prefix}{way.name}/post.php", ae=coding, method="POST", body=body,
                            protocol=protocol)
        check.encoded(answer, coding, body)


@EACH
def test_statuses(server, way, coding):
    for status in (201, 404, 500, 503):
        answer = server.get(way.path(f"status.php?status={status}"), ae=coding)
        way.check(answer, coding, b"<p>page</p>" * 2000, status)
    check.empty(server.get(way.path("status.php?status=204"), ae=coding), 204)


# --- conditions


@pytest.mark.smoke
@pytest.mark.parametrize("form", ["{}", '"other", {}'])
@pytest.mark.parametrize("prefix", ["", "passed-"])
@EACH
def test_the_tag_that_was_sent_gives_304(server, way, coding, form, prefix, protocol):
    path = f"/{prefix}{way.name}/conditional.php"
    sent = server.get(path, ae=coding, protocol=protocol)
    check.encoded(sent, coding, TAGGED)
    tag = sent.headers["ETag"]
    assert tag == way.tagged("php", coding)
    answer = server.get(path, ae=coding, headers={"If-None-Match": form.format(tag)},
                        protocol=protocol)
    check.not_modified(answer, tag)


@EACH
def test_other_tags(server, way, coding):
    for named, status in (('"php"', 304), ("*", 304), ('"other"', 200),
                          (way.tagged("other", coding), 200)):
        answer = server.get(way.path("conditional.php"), ae=coding,
                            headers={"If-None-Match": named})
        assert answer.status == status and answer.varies
        assert answer.raw == b"" if status == 304 else answer.body == TAGGED


# --- what PHP encodes


@pytest.mark.smoke
@EACH
def test_what_php_has_encoded_passes(server, way, coding, protocol):
    for ae in (coding, "gzip", "gzip, br"):
        answer = server.get(way.path("encoded.php"), ae=ae, protocol=protocol)
        check.whole(answer, "gzip", b"<p>by hand</p>" * 2000)
        assert server.reason(answer) == "encoded"


@EACH
def test_phps_own_output_compression(server, way, coding):
    """On for the page: for those who accept gzip or deflate."""
    for ae in ("gzip", "gzip, br"):
        answer = server.get(way.path("zlib.php"), ae=ae)
        check.whole(answer, "gzip", ZLIB_BODY)
        assert answer.varies and server.reason(answer) == "encoded"
    answer = server.get(way.path("zlib.php"), ae="br")
    assert (answer.coding, answer.body) == ("br" if "br" in way.codings else None, ZLIB_BODY)
    check.plain(server.get(way.path("zlib.php")), ZLIB_BODY)


# --- ends that are none


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "http/1.0", "h2c")
@EACH
def test_a_script_that_dies_midway_never_looks_whole(server, step, way, coding, protocol):
    server.expect_log(LOG)
    with server.stream(way.path("killed.php?wait"), ae=coding, protocol=protocol) as stream:
        assert (stream.status, stream.coding) == (200, coding)
        stream.wait_for(bodies.text(50000), 5)
        step("seen")
        # httpd leaves a stream of HTTP/2 without an end, where another connection is closed.
        with pytest.raises((Incomplete, OSError)):
            stream.read_all(timeout=1.5)
    answer = server.get(way.path("conditional.php"), ae=coding, protocol=protocol)
    check.encoded(answer, coding, TAGGED)


@pytest.mark.protocols("http/1.1", "http/1.0", "h2c")
@EACH
def test_a_script_that_dies_early(server, way, coding, protocol):
    """An error where nothing was sent yet, and otherwise an end that can be seen."""
    server.expect_log(LOG)
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(
                server.stream(f"/passed-{way.name}/killed.php", ae=coding, protocol=protocol))
        except Incomplete:
            return  # reset before its header
        if stream.status == 200:
            with pytest.raises((Incomplete, OSError)):
                stream.read_all(timeout=1.5)
        else:
            assert stream.status >= 500 and stream.coding is None
            assert b"<title>%d" % stream.status in stream.read_all()


@EACH
def test_a_fatal_error(server, way, coding):
    """PHP makes it a 500 where nothing was sent, and otherwise an end like any other."""
    server.expect_log(LOG)
    answer = server.get(way.path("fatal.php"), ae=coding)
    assert answer.status == 500 and answer.complete
    answer = server.get(way.path("fatal.php?begun"), ae=coding)
    assert answer.status == 200 and answer.body == b"the beginning\n"
