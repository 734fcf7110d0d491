"""Bodies that come in pieces: gathered and encoded in one call if they end soon enough, otherwise
encoded in blocks that are not much smaller."""

import random

import pytest

from kit import at, bodies, check, decode, env
from kit.fpm import Fpm
from kit.origin import framed, raw

PHP = """<?php
header('Content-Type: text/html');
$size = (int)$_GET['size'];
$page = file_get_contents(__DIR__ . '/page.html');
if (isset($_GET['length'])) header('Content-Length: ' . $_GET['length']);
for ($at = 0; $at < $size; $at += 5000) {
    echo substr($page, $at, min(5000, $size - $at));
    if (isset($_GET['pause'])) { flush(); usleep(1000 * $_GET['pause']); }
}
"""

CGI = """\
size, pause, step = (int(part) for part in os.environ['QUERY_STRING'].split(','))
page = open(os.path.join(os.environ['DOCUMENT_ROOT'], 'page.html'), 'rb').read()
head('Content-Type: text/html')
for at in range(0, size, step):
    if at > 0:
        time.sleep(pause / 1000)
    out(page[at:min(at + step, size)])
"""

PAGE = bodies.html(600_000)
GATHERED = 128 * 1024
SIZES = (9000, 30_000, 70_000, 120_000, GATHERED - 1, GATHERED + 20_000, 600_000)


def access_log(size):
    """Lines that are much alike: small blocks cost most there."""
    rng = random.Random(3)
    lines = (f'127.0.0.1 - - "GET /path/{rng.randrange(50)}/item?id={rng.randrange(10**6)}" '
             f'200 {rng.randrange(10**5)} "-" "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101"\n'
             for _ in range(size // 80))
    return "".join(lines).encode()[:size]


LOG = access_log(400_000)


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    # mod_bucketeer ends a brigade at \x10, without a flush.
    cut = b"\x10".join(bodies.pieces(LOG, (8192,)))
    server = httpd_shared("", start=False,
                          modules=["proxy", "proxy_fcgi", "proxy_http", "bucketeer"],
                          files={"page.html": PAGE, "log.txt": LOG, "cut/log.txt": cut,
                                 **{f"{size}.html": PAGE[:size] for size in SIZES}},
                          cgi={"page.cgi": CGI},
                          allow_log=["shorter than was announced"])
    origin.route("/page.html", raw({"Content-Type": "text/html", "Transfer-Encoding": "chunked"},
                                   framed(bodies.pieces(PAGE, (100,)))))
    fpm = Fpm(server.root)
    server.write("page.php", PHP)
    server.configure(
        "Elastic On\nElasticControl off\nElasticLevel br 1 1\nSetEnv ap_trust_cgilike_cl 1\n"
        f"<FilesMatch php$>\nSetHandler \"{fpm.handler}\"\n</FilesMatch>\n"
        "AliasMatch ^/(?:small|never)/(.*) {docs}/$1\n"
        "<Location /small>\nElasticWholeBody 50K\n</Location>\n"
        "<Location /never>\nElasticWholeBody 0\n</Location>\n"
        "<Location ~ /cut/>\nSetOutputFilter BUCKETEER\n</Location>\n"
        + "".join(f"ProxyPass /br-{level}/origin/ {origin.url}/\n"
                  + at(f"br-{level}", f"ElasticLevel br {level}") for level in (0, 1)))
    server.start()
    yield server
    fpm.stop()


def is_whole(server, path, size, coding="br"):
    """True if the body was encoded like a file of the same bytes.

    brotli at level 1 makes other bytes for a stream from 64 KB on; gzip may make the same.
    """
    answer = server.get(path.format(size), ae=coding)
    check.encoded(answer, coding, PAGE[:size])
    return answer.raw == server.get(f"/{size}.html", ae=coding).raw


# Prefork's many processes have room for small bodies only. A body of known length is gathered as a
# file would be.
EDGES, KNOWN = ([(30_000, True), (600_000, False)], 30_000) if env.MPM == "prefork" else (
    [(120_000, True), (GATHERED - 1, True), (GATHERED + 20_000, False), (600_000, False)], 600_000)


@pytest.mark.smoke
@pytest.mark.parametrize("path,size,whole", [
    *((path, *edge) for path in ("/page.php?size={}", "/page.cgi?{},0,5000")
      for edge in ((9000, True), (30_000, True), *EDGES)),
    ("/page.php?size={0}&length={0}", KNOWN, True)])
def test_what_is_gathered_has_an_end(server, path, size, whole):
    for coding in ("br", "gzip") if size <= 30_000 else ("br",):
        def ask(coding=coding):
            return is_whole(server, path, size, coding)

        assert check.once(ask, bool) if whole else not any(ask() for _ in range(3))


@pytest.mark.parametrize("path", [
    # Larger than a whole body may be.
    *(f"/{place}/page.php?size=70000{length}" for place in ("small", "never")
      for length in ("", "&length=70000")),
    "/page.php?size=70000&pause=40", "/page.cgi?70000,40,5000", "/page.cgi?70000,60,60000"])
def test_a_producer_that_takes_its_time_is_not_waited_for(server, path):
    assert not is_whole(server, path, 70000)


@pytest.mark.parametrize("announced", [35_000, 90_000, 1_100_000])
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("pause", ["", "&pause=200"])
def test_what_comes_short_of_its_announced_length_is_no_whole_body(server, announced, coding,
                                                                   pause):
    """A backend that sends too little may have broken off."""
    # Part of the body may have been sent before its end is seen, if a script pauses or the machine
    # delays it, or if the body is too large to wait for.
    may_be_out = pause or announced > 1_000_000
    for _ in range(1 if may_be_out else 50):
        answer = server.get(f"/page.php?size=20000&length={announced}{pause}", ae=coding)
        if answer.status == 500:
            assert answer.coding is None
            return
        assert answer.status == 200 and not answer.complete
        with pytest.raises(decode.DecodeError):
            decode.decode(coding, answer.raw)
    assert may_be_out, "all that is there at once is out before its end is seen"


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("whole,pieces,body,most", [
    ("log.txt", "cut/log.txt", LOG, 1.1),
    # The machine determines how often the server waits for the script.
    ("page.html", "page.cgi?600000,0,8192", PAGE, 1.25),
    ("page.html", "origin/page.html", PAGE, 1.5)], ids=["brigades", "script", "chunks"])
def test_small_pieces_cost_br_little(server, level, whole, pieces, body, most):
    """At these levels the encoder makes a block of each piece."""
    sizes = []
    for path in (whole, pieces):
        answer = server.get(f"/br-{level}/{path}", ae="br")
        check.encoded(answer, "br", body)
        sizes.append(len(answer.raw))
    assert sizes[1] < sizes[0] * most
