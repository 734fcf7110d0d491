"""What a backend says of its body: codings that it applied, fields that speak of bytes, Vary."""

import gzip

import brotli
import pytest

from kit import bodies, check
from kit.origin import raw
from kit.proxied import EACH, EACH_WAY, config, start

BODY = bodies.html(30000)
HTML = {"Content-Type": "text/html"}
TAG = ("ETag", '"o"')
GZ = gzip.compress(BODY, mtime=0)
BR = brotli.compress(BODY, quality=1)

# A frame of zstd is no more than bytes here: nobody has to read it.
ZSTD = b"\x28\xb5\x2f\xfd" + bodies.noise(9000)

ENCODED = {
    "gzip": (["gzip"], GZ),
    "x-gzip": (["x-gzip"], GZ),
    "GZip": (["GZip"], GZ),
    "br": (["br"], BR),
    "zstd": (["zstd"], ZSTD),
    "list": (["gzip, br"], brotli.compress(GZ, quality=1)),
    "fields": (["gzip", "br"], brotli.compress(GZ, quality=1)),
    "identity-gzip": (["identity, gzip"], GZ),
    "identity-fields": (["identity", "gzip"], GZ),
    "unknown": (["aes128gcm"], bodies.noise(9000)),
}


def _page(*fields, body=BODY, status="200 OK"):
    """For Origin.route: a page with these fields, in their order."""
    return raw([("Content-Length", len(body)), *HTML.items(), *fields], body, status)


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    server = start(httpd_shared, config(origin.url), tls=True, h2=True)
    for name, (codings, body) in ENCODED.items():
        encoded = [("Content-Encoding", coding) for coding in codings]
        origin.route(f"/{name}", _page(TAG, ("Accept-Ranges", "bytes"), *encoded, body=body))
    origin.route("/negotiates", _negotiating)
    return server


def _negotiating(exchange):
    """A backend that compresses by itself, for those who accept it."""
    takes = "gzip" in exchange.headers.get("accept-encoding", "")
    coded = {"Content-Encoding": "gzip", "ETag": '"o-packed"'} if takes else {"ETag": '"o"'}
    exchange.respond(200, {**HTML, "Vary": "Accept-Encoding", **coded}, GZ if takes else BODY)


@pytest.mark.smoke
@pytest.mark.parametrize("name", ENCODED)
@EACH_WAY
def test_an_encoded_body_passes_untouched(server, way, name, protocol):
    codings, body = ENCODED[name]
    for ae in ("gzip", "br", "gzip, br, zstd", None):
        answer = server.get(way.path(name), ae=ae, protocol=protocol)
        assert answer.status == 200 and answer.complete and answer.raw == body
        assert answer.coding == ", ".join(codings)
        assert answer.headers["Content-Length"] == str(len(body))
        assert answer.headers["ETag"] == '"o"' and answer.headers["Accept-Ranges"] == "bytes"
        assert not answer.varies, "nothing was negotiated here"
        assert server.reason(answer) == "encoded"
    head = server.head(way.path(name), ae="gzip", protocol=protocol)
    assert (head.status, head.raw, head.coding) == (200, b"", ", ".join(codings))
    assert head.headers["Content-Length"] == str(len(body))


@EACH
def test_a_backend_that_negotiates_itself(server, way, coding):
    """gzip comes from the backend; what it sends as it is, we encode where the client takes it."""
    answer = server.get(way.path("negotiates"), ae=coding)
    check.encoded(answer, coding, BODY)
    assert answer.headers["Vary"].lower().count("accept-encoding") == 1
    expected = '"o-packed"' if coding == "gzip" else way.tagged("o", coding)
    assert answer.headers["ETag"] == expected
    check.plain(server.get(way.path("negotiates")), BODY)


@pytest.mark.parametrize("name", ["identity", "7bit", "8bit", "binary", "Identity"])
@EACH
def test_a_content_encoding_that_is_none_is_replaced(server, origin, way, coding, name):
    origin.route("/plain", _page(("Content-Encoding", name)))
    check.encoded(server.get(way.path("plain"), ae=coding), coding, BODY)


# --- fields


@pytest.mark.parametrize("fields,expected", [
    ([("Vary", "Cookie")], ["cookie", "accept-encoding"]),
    ([("Vary", "accept-encoding")], ["accept-encoding"]),
    ([("Vary", "Cookie"), ("Vary", "Accept-Encoding, Accept")],
     ["cookie", "accept-encoding", "accept"]),
    ([("Vary", "*")], ["*"]),
    ([], ["accept-encoding"]),
])
@EACH
def test_vary_has_every_name_once(server, origin, way, coding, fields, expected):
    origin.route("/vary", _page(*fields))
    for ae in (coding, None):
        answer = server.get(way.path("vary"), ae=ae)
        assert (answer.coding, answer.body) == (ae, BODY)
        members = [member.strip().lower() for member in answer.headers["Vary"].split(",")]
        assert members == expected


@pytest.mark.parametrize("fields", [
    [("Cache-Control", "no-transform")], [("Cache-Control", "max-age=1,No-Transform")],
    [("Cache-Control", "max-age=60"), ("Cache-Control", "public, no-transform")],
    [("Cache-Control", "no-transform"), ("Cache-Control", "max-age=3")],
    [("Cache-Control", "max-age=3"), ("Cache-Control", "public"),
     ("Cache-Control", "x=1, No-Transform")],
])
@EACH
def test_no_transform_is_respected(server, origin, way, coding, fields):
    origin.route("/kept", _page(*fields, TAG))
    answer = server.get(way.path("kept"), ae=coding)
    check.whole(answer, None, BODY)
    assert answer.headers["ETag"] == '"o"'
    assert answer.headers["Content-Length"] == str(len(BODY))
    assert server.reason(answer) == "no-transform"


@EACH
def test_fields_about_the_identitys_bytes_go_and_others_stay(server, origin, way, coding):
    stale = {"Content-MD5": "a", "Digest": "md5=a", "Content-Digest": "sha-256=:a:",
             "Repr-Digest": "sha-256=:a:", "Accept-Ranges": "bytes"}
    others = {"Last-Modified": "Fri, 14 Jul 2017 02:40:00 GMT", "X-Other": "kept"}
    origin.route("/fields", _page(*stale.items(), *others.items()))
    answer = server.get(way.path("fields"), ae=coding)
    check.encoded(answer, coding, BODY)
    assert not [name for name in stale if name in answer.headers], answer
    plain = server.get(way.path("fields"))
    check.plain(plain, BODY)
    assert others.items() <= dict(answer.headers.fields).items()
    assert stale.items() <= dict(plain.headers.fields).items()


@pytest.mark.parametrize("given", ['"o"', 'W/"o"', None])
@EACH
def test_tags_get_a_suffix_and_weak_ones_stay_weak(server, origin, way, coding, given):
    origin.route("/tag", _page(*[("ETag", given)] * bool(given)))
    answer = server.get(way.path("tag"), ae=coding)
    check.encoded(answer, coding, BODY)
    tag = answer.headers.get("ETag")
    if given is None:
        assert tag is None
    else:
        assert tag.removeprefix("W/") == way.tagged("o", coding).removeprefix("W/")
        assert tag.startswith("W/") or not given.startswith("W/")
    assert server.get(way.path("tag")).headers.get("ETag") == given


# --- parts that nobody asked us for


@pytest.mark.parametrize("status,fields", [
    ("206 Partial Content", [("Content-Range", f"bytes 0-8999/{len(BODY)}")]),
    ("200 OK", [("Content-Range", f"bytes 0-8999/{len(BODY)}")]),
])
@EACH
def test_parts_pass(server, origin, way, coding, status, fields):
    origin.route("/part", _page(TAG, *fields, body=BODY[:9000], status=status))
    answer = server.get(way.path("part"), ae=coding)
    check.whole(answer, None, BODY[:9000], int(status[:3]))
    assert answer.headers["ETag"] == '"o"'
    assert server.reason(answer) == ("range" if way.errors or answer.status == 200 else None)


@EACH
def test_multipart_parts_pass(server, origin, way, coding):
    body = b"--cut\r\nContent-Range: bytes 0-8999/30000\r\n\r\n" + BODY[:9000] + b"\r\n--cut--\r\n"
    fields = {"Content-Type": "multipart/byteranges; boundary=cut", "Content-Length": len(body)}
    origin.route("/parts", raw(fields, body, "206 Partial Content"))
    answer = server.get(way.path("parts"), ae=coding, headers={"Range": "bytes=0-8999,9999-9999"})
    check.whole(answer, None, body, 206)


@pytest.mark.parametrize("status,fields", [
    ("204 No Content", []), ("205 Reset Content", [("Content-Length", 0)])])
@EACH
def test_responses_without_content_get_none(server, origin, way, coding, status, fields):
    origin.route("/none", raw([TAG, *fields], status=status))
    origin.route("/page", _page())
    with server.connect() as connection:
        answer = connection.request(way.path("none"), ae=coding)
        check.empty(answer, int(status[:3]))
        assert answer.headers["ETag"] == '"o"'
        # The next answer begins where it ended.
        check.encoded(connection.request(way.path("page"), ae=coding), coding, BODY)


@EACH
def test_the_response_behind_early_hints_is_encoded(server, origin, way, coding):
    def answer(exchange):
        raw({"Link": "</a.css>; rel=preload"}, status="103 Early Hints")(exchange)
        _page()(exchange)

    origin.route("/hints", answer)
    check.encoded(server.get(way.path("hints"), ae=coding), coding, BODY)


@EACH
def test_other_types_pass_where_types_are_listed(server, origin, way, coding):
    data = bodies.noise(9000)
    fields = {"Content-Type": "image/png", "ETag": '"o"', "Accept-Ranges": "bytes"}
    origin.route("/image", lambda e: e.respond(200, fields, data))
    answer = server.get(way.path("image"), ae=coding)
    if not way.typed:
        check.encoded(answer, coding, data)
        return
    check.plain(answer, data, varies=False)
    assert answer.headers["ETag"] == '"o"' and answer.headers["Accept-Ranges"] == "bytes"


UNLABELLED = {"gzip": GZ, "zstd": ZSTD, "large": gzip.compress(bodies.noise(3 << 20), mtime=0)}


@pytest.mark.parametrize("name", UNLABELLED)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_body_that_is_encoded_and_not_labelled_is_not_encoded_again(httpd, origin, name, method):
    body = UNLABELLED[name]
    origin.route("/unlabelled", _page(TAG, body=body))
    server = httpd(f"Elastic On\nProxyPass / {origin.url}/\n", modules=["proxy", "proxy_http"])
    answer = server.get("/unlabelled", ae="gzip, br", method=method)
    # An origin sends HEAD no body to look at.
    if method == "GET":
        assert answer.coding is None and answer.raw == body
        assert answer.headers["ETag"] == '"o"' and answer.headers["Content-Length"] == str(len(body))
        assert server.reason(answer) == "encoded"
    assert answer.status == 200


def test_the_drop_in_encodes_it_as_the_stock_module_does(httpd, origin):
    origin.route("/unlabelled", _page(TAG, body=GZ))
    server = httpd(f"SetOutputFilter DEFLATE\nProxyPass / {origin.url}/\n",
                   modules=["proxy", "proxy_http"], records=("deflate",))
    answer = server.get("/unlabelled", ae="gzip")
    assert answer.coding == "gzip" and answer.body == GZ
