"""mod_cache in the same httpd: it keeps only what is whole, and slices no encoded body."""

import gzip
import os
import socket
import time

import brotli
import pytest

from kit import bodies, check, config, decode
from kit.client import Incomplete

BODY = bodies.text(60000)
BR = brotli.compress(BODY, quality=9)
GZ = gzip.compress(BODY, 9, mtime=0)
OLD = 1_500_000_000
CODINGS = pytest.mark.parametrize("coding", ["gzip", "br"])
QUICK = pytest.mark.parametrize("quick", ["On", "Off"])

# mod_cache_disk puts the header in place before the body: who asks in between is served without it.
MISSED = "AH00708"

# Larger than what is encoded in one call, and more than a socket takes before the client reads.
LARGE = bodies.noise(1 << 20) * 16


def cached(httpd, lines="", quick="On", allow_log=(), **kw):
    """A server that caches everything on disk, and says in X-Cache what it did."""
    server = httpd(f"Elastic On\n{config.CACHE}CacheQuickHandler {quick}\nCacheHeader On\n"
                   f"CacheMaxFileSize 100000000\n{lines}", modules=["cache", "cache_disk"],
                   allow_log=[MISSED, *allow_log], **kw)
    config.make_cache(server)
    return server


def hits(server, path, ae, headers=None):
    """Waits for a response out of the cache; that response."""
    found = []

    def hit():
        found.append(server.get(path, ae=ae, headers=headers))
        return found[-1].headers.get("X-Cache", "").startswith("HIT")

    server.wait_for(hit, 10, "a hit")
    return found[-1]


def read_while_cut(server, path, file, coding):
    """Reads slowly while the file loses its rest; (whether it looked whole, the bytes)."""
    raw = []
    with server.connect() as connection:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        response = connection.read_head(connection.send_request(path, ae=coding))
        assert (response.status, response.coding) == (200, coding), response
        time.sleep(0.5)
        os.truncate(file, 1 << 20)
        try:
            for piece in connection.body_pieces(response):
                raw.append(piece)
        except (Incomplete, ConnectionError):
            pass
    return response.complete, b"".join(raw)


@pytest.mark.parametrize("coding,quick", [("gzip", "On"), ("br", "On"), ("gzip", "Off")])
def test_a_file_that_was_cut_is_not_kept_as_whole(httpd, coding, quick):
    server = cached(httpd, "EnableSendfile Off\nElasticLevel gzip 1\nElasticLevel br 0\n", quick,
                    allow_log=["the body cannot be read", r"\[(cache|core):"])
    file = server.write("a.txt", LARGE, mtime=OLD)
    whole, raw = read_while_cut(server, "/a.txt", file, coding)
    assert not whole
    with pytest.raises(decode.DecodeError):
        decode.decode(coding, raw)
    server.write("a.txt", LARGE, mtime=OLD)
    for _ in range(2):
        check.encoded(server.get("/a.txt", ae=coding), coding, LARGE)


@CODINGS
@QUICK
def test_a_body_whose_origin_died_is_not_kept_as_whole(httpd, origin, coding, quick):
    def die(exchange):
        exchange.head(200, {"Content-Type": "text/plain", "Cache-Control": "max-age=600",
                            "Transfer-Encoding": "chunked"})
        exchange.send(b"%x\r\n%s\r\n" % (len(BODY), BODY))
        exchange.close = True

    origin.route("/dies", die)
    server = httpd(f"Elastic On\n{config.CACHE}CacheQuickHandler {quick}\n"
                   f"ProxyPass /p/ {origin.url}/",
                   modules=["cache", "cache_disk", "proxy", "proxy_http"],
                   allow_log=["proxy", r"\[cache"])
    config.make_cache(server)
    for _ in range(3):
        answer = server.get("/p/dies", ae=coding)
        assert not answer.complete, answer


# --- siblings beside modules that add filters of their own


@pytest.mark.smoke
@QUICK
@pytest.mark.parametrize("on", [False, True])
def test_siblings_beside_mod_cache(httpd, quick, on):
    lines = config.CACHE + f"CacheQuickHandler {quick}\n" if on else ""
    server = httpd(f"Elastic On\nElasticPrecompressed On\n{lines}", modules=["cache", "cache_disk"],
                   allow_log=[MISSED])
    config.make_cache(server)
    server.write("a.txt", BODY, OLD)
    server.write("a.txt.br", BR, OLD)
    server.write("a.txt.gz", GZ, OLD)
    for _ in range(2):
        for ae, raw in (("br", BR), ("gzip", GZ), (None, BODY)):
            answer = server.get("/a.txt", ae=ae)
            assert (answer.status, answer.coding, answer.raw) == (200, ae, raw), answer
            assert answer.varies
    assert int(server.status()["ElasticPrecompressed"]) >= 2


def test_siblings_beside_mod_session(httpd):
    server = httpd("ElasticPrecompressed On\nSession On\nSessionCookieName s path=/",
                   modules=["session", "session_cookie"])
    server.write("a.txt", BODY, OLD)
    server.write("a.txt.br", BR, OLD)
    answer = server.get("/a.txt", ae="br")
    assert (answer.coding, answer.raw) == ("br", BR), answer


# --- ranges of what is cached


def is_a_slice_of_the_identity(answer):
    return answer.status == 206 and answer.coding is None and answer.raw == BODY[100:200]


@pytest.mark.parametrize("mode", ["keep", "remove", "weak", "suffix"])
@QUICK
@CODINGS
def test_a_cached_encoded_body_is_never_sliced(httpd, mode, quick, coding):
    server = cached(httpd, f"ElasticETag {mode}\n", quick)
    server.write("a.txt", BODY, OLD)
    check.encoded(hits(server, "/a.txt", coding), coding, BODY)
    tag = server.get("/a.txt", ae=coding).headers.get("ETag")
    conditions = [{}, {}, {"If-Range": tag}] if tag and mode != "keep" else [{}, {}]
    for condition in conditions:
        answer = server.get("/a.txt", ae=coding, headers={"Range": "bytes=100-199", **condition})
        if not is_a_slice_of_the_identity(answer):
            assert answer.status == 200 and answer.body == BODY, answer
        assert server.get("/a.txt", ae=coding).body == BODY


@QUICK
@CODINGS
@pytest.mark.parametrize("mode", ["weak", "keep"])
def test_a_cached_sibling_is_sliced_as_itself(httpd, quick, mode, coding):
    name, data = {"br": ("a.txt.br", BR), "gzip": ("a.txt.gz", GZ)}[coding]
    server = cached(httpd, f"ElasticPrecompressed On\nElasticETag {mode}\n", quick)
    server.write("a.txt", BODY, OLD)
    server.write(name, data, OLD)
    hit = hits(server, "/a.txt", coding)
    tag = hit.headers["ETag"]
    assert tag.startswith('"') and hit.headers["Accept-Ranges"] == "bytes" and hit.raw == data
    for condition in ({}, {"If-Range": tag}):
        answer = server.get("/a.txt", ae=coding, headers={"Range": "bytes=100-199", **condition})
        if answer.status == 206 and answer.coding:
            assert (answer.coding, answer.headers["ETag"]) == (coding, tag), answer
            assert answer.headers["Content-Range"] == f"bytes 100-199/{len(data)}"
            assert answer.raw == data[100:200]
        elif not is_a_slice_of_the_identity(answer):
            assert answer.status == 200 and answer.body == BODY, answer


def test_a_cached_identity_is_sliced(httpd):
    """The guard goes no further than it must."""
    server = cached(httpd, "ElasticETag keep\n")
    server.write("a.txt", BODY, OLD)
    check.plain(hits(server, "/a.txt", None), BODY)
    assert is_a_slice_of_the_identity(server.get("/a.txt", headers={"Range": "bytes=100-199"}))


# --- revalidation


@CODINGS
@pytest.mark.parametrize("mode", ["weak", "suffix"])
def test_the_304_of_an_encoded_body_says_nothing_of_the_identity(httpd, coding, mode):
    """A cache would compare its length with that of the entry, or keep it."""
    server = httpd(f"Elastic On\nElasticETag {mode}")
    server.write("a.txt", BODY, OLD)
    tag = server.get("/a.txt", ae=coding).headers["ETag"]
    answer = server.get("/a.txt", ae=coding, headers={"If-None-Match": tag})
    assert answer.status == 304 and answer.headers["ETag"] == tag and answer.varies
    assert "Content-Length" not in answer.headers and "Accept-Ranges" not in answer.headers, answer


@CODINGS
@QUICK
def test_mod_cache_revalidates_an_encoded_file(httpd, coding, quick):
    server = cached(httpd, "Header set Cache-Control max-age=1\nLogLevel cache:debug\n", quick)
    server.write("a.txt", BODY, OLD)
    hits(server, "/a.txt", coding)
    for _ in range(2):
        time.sleep(2.1)
        answer = server.get("/a.txt", ae=coding)
        check.encoded(answer, coding, BODY)
        assert answer.headers["X-Cache"].startswith("REVALIDATE"), answer
        hits(server, "/a.txt", coding)
    # "responded with an uncacheable 304, retrying the request as unconditional"
    assert not server.log.lines("AH02473")
