"""PHP behind mod_proxy_fcgi: a real php-fpm whose pages are flushed, conditional, encoded by PHP,
or broken off."""

import contextlib

import pytest

from kit import bodies, check
from kit.client import Incomplete
from kit.fpm import Fpm
from kit.proxied import EACH, WAYS, Steps, locations, start

LOG = r"\[proxy(_fcgi)?:\w+\]"

# A script waits for the test before it continues.
WAIT = """<?php
function await($n) {
    for ($turn = 0; $turn < 1000 && $n && !file_exists(getenv('KIT') . "/steps/$n"); $turn++) {
        clearstatcache();
        usleep(10000);
    }
}
"""

# Sends `size` bytes of the text of bodies.text(), or the posted body, and may come to a bad end.
PAGE = WAIT + """
http_response_code((int)($_GET['status'] ?? 200));
header('Content-Type: text/plain');
if (isset($_GET['length'])) header('Content-Length: ' . $_GET['size']);
echo file_get_contents('php://input');
echo substr(file_get_contents(getenv('KIT') . '/docs/text.bin'), 0, (int)($_GET['size'] ?? 0));
if (isset($_GET['size'], $_GET['end'])) flush();
await((int)($_GET['wait'] ?? 0));
if (isset($_GET['end'])) $_GET['end'] == 'killed' ? exec('kill -9 ' . getmypid()) : does_not_exist();
"""

PARTS = WAIT + """
header('Content-Type: ' . $_GET['type']);
for ($n = 0; $n < 4; $n++) {
    await($n);
    echo str_repeat("part $n of the page\\n", (int)$_GET['times']), "<end $n>\\n";
    flush();
}
"""

CONDITIONAL = """<?php
header('Content-Type: text/html');
header('ETag: "php"');
$named = array_map('trim', explode(',', $_SERVER['HTTP_IF_NONE_MATCH'] ?? ''));
if (in_array('"php"', $named) || in_array('*', $named)) { http_response_code(304); exit; }
echo str_repeat("<p>a page with a tag</p>\\n", 400);
"""
TAGGED = b"<p>a page with a tag</p>\n" * 400

PAGES = {"page.php": PAGE, "parts.php": PARTS, "conditional.php": CONDITIONAL,
         "zlib.php": "<?php ini_set('zlib.output_compression', '1');\n"
                     "header('Content-Type: text/html'); echo str_repeat('by PHP', 5000);\n",
         "encoded.php": "<?php header('Content-Type: text/html');\n"
                        "header('Content-Encoding: gzip');\n"
                        "echo gzencode(str_repeat('by PHP', 5000));\n"}


@pytest.fixture(scope="module")
def server(httpd_shared):
    """Uses SetHandler with flushing below /way/, and ProxyPassMatch without below /passed-way/."""
    server = start(httpd_shared, "", ["proxy_fcgi"], start=False, tls=True, h2=True,
                   files={"text.bin": bodies.text(1 << 20), **PAGES})
    fpm = Fpm(server.root)
    server.configure(
        "KeepAliveTimeout 1\n"
        + "".join(f"ProxyPassMatch ^/passed-{way.name}/(.*\\.php)$ "
                  f"unix:{fpm.socket}|fcgi://passed{{docs}}/$1\n" for way in WAYS)
        + f'<FilesMatch "\\.php$">\nSetHandler "{fpm.handler}"\n</FilesMatch>\n'
          f'<FilesMatch "\\.stopped$">\nSetHandler "{fpm.handler.replace("fpm.sock", "none.sock")}"\n'
          '</FilesMatch>\n<Proxy "fcgi://localhost/">\nProxySet flushpackets=on\n</Proxy>\n'
        + "".join(f"Alias /{way.name}/ {{docs}}/\n" for way in WAYS)
        + locations() + locations(prefix="passed-"))
    server.start()
    yield server
    fpm.stop()


@pytest.mark.smoke
@pytest.mark.parametrize("prefix", ["", "passed-"])
@pytest.mark.parametrize("size,more", [
    (122880, ""), (122880, "&length"), (1 << 20, ""), (1 << 20, "&length"),
    *((50000, f"&status={status}") for status in (201, 404, 500, 503))])
@EACH
def test_pages(server, way, coding, size, more, prefix, protocol):
    path = f"/{prefix}{way.name}/page.php?size={size}{more}"
    get, head = check.once(lambda: (server.get(path, ae=coding, protocol=protocol),
                                    server.head(path, ae=coding, protocol=protocol)),
                           check.same_length)
    status = int(more.partition("status=")[2] or 200)
    way.check(get, coding, bodies.text(size), status)
    check.head_of(get, head)
    check.whole(server.get(path, protocol=protocol), None, bodies.text(size), status)


def test_a_pool_that_is_stopped_does_not_stop_others(server):
    """All pools of this name are one worker to mod_proxy."""
    server.log.expect("AH02454|AH01079")
    for _ in range(20):  # each process knows a worker of its own
        assert server.get("/page.stopped").status == 503
    for _ in range(20):
        check.whole(server.get("/page.php?size=5000"), None, bodies.text(5000))


@EACH
def test_the_connection_stays_in_step(server, way, coding):
    with server.connect() as connection:
        for method, page, body in (("HEAD", "conditional.php", b""), ("GET", "page.php", b""),
                                   ("GET", "page.php?status=204", b""),
                                   ("POST", "page.php", bodies.text(99999))):
            answer = connection.request(way.path(page), method, coding, body=body)
            assert answer.complete and (answer.raw == body or answer.body == body)
            answer = connection.request(way.path("conditional.php"), ae=coding)
            check.encoded(answer, coding, TAGGED)


@pytest.mark.smoke
@pytest.mark.parametrize("prefix", ["", "passed-"])
@EACH
def test_the_tag_of_a_script_gives_304(server, way, coding, prefix, protocol):
    path, tag = f"/{prefix}{way.name}/conditional.php", way.tagged("php", coding)

    def ask(named):
        return server.get(path, ae=coding, headers={"If-None-Match": named}, protocol=protocol)

    for named in (tag, f'"other", {tag}'):
        check.not_modified(ask(named), tag)
    for named in ('"php"', "*"):
        check.not_modified(ask(named))
    for named in ('"other"', way.tagged("other", coding)):
        answer = ask(named)
        check.encoded(answer, coding, TAGGED)
        assert answer.headers["ETag"] == tag


@pytest.mark.smoke
@pytest.mark.parametrize("page", ["encoded.php", "zlib.php"])
@EACH
def test_what_php_has_encoded_passes(server, way, coding, page, protocol):
    """PHP's own output compression is for clients that accept gzip."""
    body = b"by PHP" * 5000
    for ae in ("gzip", "gzip, br"):
        answer = server.get(way.path(page), ae=ae, protocol=protocol)
        check.whole(answer, "gzip", body)
        assert server.reason(answer) == "encoded"
    if page == "zlib.php":
        check.encoded(server.get(way.path(page), ae=coding), coding, body)
        check.plain(server.get(way.path(page)), body)


# --- parts, and broken ends


@pytest.fixture(scope="module")
def steps(server):
    return Steps(server)


@pytest.mark.smoke
@pytest.mark.parametrize("type", ["text/event-stream", "text/html"])
@pytest.mark.parametrize("times", [1, 3000])
@EACH
def test_a_part_is_decodable_before_the_next_is_made(server, steps, way, coding, times, type,
                                                     protocol):
    steps.check(server, way.path(f"parts.php?times={times}&type={type}"), coding,
                [b"part %d of the page\n" % n * times + b"<end %d>\n" % n for n in range(4)],
                protocol)


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "http/1.0", "h2c")
@EACH
def test_a_script_that_dies_midway_never_looks_whole(server, steps, way, coding, protocol):
    server.expect_log(LOG)
    steps.clear()
    with server.stream(way.path("page.php?size=50000&end=killed&wait=1"), ae=coding, protocol=protocol) as stream:
        assert (stream.status, stream.coding) == (200, coding)
        stream.wait_for(bodies.text(50000), 5)
        steps.go(1)
        # httpd leaves an HTTP/2 stream open; it closes other connections.
        with pytest.raises((Incomplete, OSError)):
            stream.read_all(timeout=1.5)
    answer = server.get(way.path("conditional.php"), ae=coding, protocol=protocol)
    check.encoded(answer, coding, TAGGED)


@EACH
def test_a_script_that_fails_early(server, way, coding):
    """If nothing was sent yet, the client gets an error; otherwise a visible end if the process
    dies. PHP's fatal errors end a body normally."""
    server.expect_log(LOG)
    with contextlib.suppress(Incomplete):  # before its header
        answer = server.get(f"/passed-{way.name}/page.php?size=50000&end=killed", ae=coding)
        assert not answer.complete or answer.status >= 500 and answer.coding is None
        assert not answer.complete or b"<title>%d" % answer.status in answer.body
    answer = server.get(way.path("page.php?end=fatal"), ae=coding)
    assert answer.status == 500 and answer.complete
    answer = server.get(way.path("page.php?end=fatal&size=14"), ae=coding)
    assert answer.status == 200 and answer.body == bodies.text(14)
