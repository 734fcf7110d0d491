"""ElasticMinSize: with `auto`, what fits one TCP segment goes out as it is, and what does not is
compressed.

On loopback the kernel's segment size is not that of a wire, so the configured MTU takes its place:
1500 bytes less 52 for IPv4 and TCP with timestamps, 72 for IPv6.
"""

import pytest

from kit import at, bodies, check

# How far below the segment `auto` may stay: the core adds more bytes behind it.
SLACK = 64

CGI = """\
size, padding, mode = os.environ['QUERY_STRING'].split('-')
data = bodies.text(int(size))
head('Content-Type: text/plain', *(['X-Padding: ' + 'p' * int(padding)] if padding != '0' else []))
if mode == 'whole':
    out(data)
elif mode == 'bytes':
    for at in range(0, len(data), 50):
        out(data[at:at + 50])
"""


@pytest.fixture(scope="module")
def server(httpd_shared):
    server = httpd_shared(
        "Elastic On\n"
        + at("fixed", "ElasticMinSize 500")
        + at("none", "ElasticMinSize 0")
        + at("one", "ElasticMinSize 1")
        + at("padded", "Header set X-Padding " + "p" * 500),
        tls=True, h2=True, ipv6=True, cgi={"body.cgi": CGI}, files={"0.txt": b""})
    return server


def _largest_identity(server, prefix="", **kw):
    """The largest static body that goes out as it is, by bisection; its response."""

    def ask(size):
        server.write("sized.txt", bodies.text(size))
        answer = server.get(f"{prefix}/sized.txt", ae="gzip", **kw)
        assert answer.body == bodies.text(size) and answer.varies
        return answer

    low, high = 1, 70000
    assert ask(low).coding is None and ask(high).coding == "gzip"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ask(middle).coding else (middle, high)
    answer = ask(low)
    assert server.reason(answer) == "small"
    return answer


def _total(answer):
    return len(answer.head) + len(answer.raw)


@pytest.mark.smoke
@pytest.mark.parametrize("prefix", ["", "/padded"])
def test_what_fits_a_segment_with_its_header_stays(server, prefix):
    total = _total(_largest_identity(server, prefix))
    assert 1448 - SLACK <= total <= 1448


@pytest.mark.protocols("http/1.1", "http/1.0")
def test_the_fields_of_a_kept_connection_count(server, protocol):
    """Browsers ask for it, and httpd then adds Keep-Alive and Connection."""
    answer = _largest_identity(server, headers={"Connection": "keep-alive"}, protocol=protocol)
    assert "Keep-Alive" in answer.headers
    assert 1448 - SLACK <= _total(answer) <= 1448


def test_ipv6_leaves_twenty_bytes_less(server):
    four = len(_largest_identity(server).raw)
    six = _largest_identity(server, ipv6=True)
    assert _total(six) <= 1428
    # Only the address family differs, but for the port's digits nowhere in the response.
    assert four - len(six.raw) == 20


def test_tls_leaves_the_record_less(server):
    plain = len(_largest_identity(server).raw)
    tls = len(_largest_identity(server, protocol="tls").raw)
    assert 20 <= plain - tls <= 40


@pytest.mark.protocols("h2c", "h2")
def test_h2_asks_its_master_connection(server, protocol):
    """A stream's own socket would answer 536."""
    size = len(_largest_identity(server, protocol=protocol).raw)
    assert 1448 - 500 <= size <= 1448


@pytest.mark.parametrize("mtu,payload", [(576, 524), (9000, 8948), (40000, 39948)])
def test_the_configured_mtu(httpd, mtu, payload):
    server = httpd(f"Elastic On\nElasticMTU {mtu}")
    total = _total(_largest_identity(server))
    assert payload - SLACK <= total <= payload


def test_the_mtu_of_a_virtual_host(httpd):
    server = httpd("Elastic On\n<VirtualHost *:{port}>\nServerName a\n</VirtualHost>\n"
                   "<VirtualHost *:{port}>\nServerName b\nElasticMTU 9000\n</VirtualHost>\n",
                   files={"a.txt": bodies.text(5000)})
    check.encoded(server.get("/a.txt", ae="gzip", headers={"Host": "a"}), "gzip", bodies.text(5000))
    answer = server.get("/a.txt", ae="gzip", headers={"Host": "b"})
    check.plain(answer, bodies.text(5000))
    assert server.reason(answer) == "small"


@pytest.mark.smoke
def test_a_fixed_size(server):
    for size, coding in ((499, None), (500, "gzip"), (501, "gzip")):
        server.write("fixed.txt", bodies.text(size))
        check.negotiated(server.get("/fixed/fixed.txt", ae="gzip"), coding, bodies.text(size))


def test_size_zero_and_one(server):
    server.write("one.txt", b"x")
    for prefix in ("/none", "/one"):
        check.encoded(server.get(f"{prefix}/one.txt", ae="identity;q=0, gzip"), "gzip", b"x")
        # An empty body gains nothing from a coding, whatever the threshold.
        answer = server.get(f"{prefix}/0.txt", ae="gzip")
        assert answer.status == 200 and answer.body == b""


@pytest.mark.parametrize("mode", ["whole", "bytes"])
def test_bodies_of_unknown_length_are_held_until_their_size_is_known(server, mode):
    small = check.once(lambda: server.get(f"/body.cgi?700-0-{mode}", ae="gzip"),
                       lambda answer: answer.coding is None)
    check.plain(small, bodies.text(700))
    assert server.reason(small) == "small"
    assert mode != "whole" or small.headers.get("Content-Length") == "700"
    check.encoded(server.get(f"/body.cgi?1500-0-{mode}", ae="gzip"), "gzip", bodies.text(1500))
    check.encoded(server.get(f"/body.cgi?700-800-{mode}", ae="gzip"), "gzip", bodies.text(700))
