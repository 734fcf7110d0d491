"""ElasticMinSize: with `auto`, bodies that fit one TCP segment stay uncompressed, and larger ones
are compressed.

On loopback the kernel's segment size is not that of a wire, so the configured MTU counts: 1500
bytes less 52 for IPv4 and TCP with timestamps, 72 for IPv6.
"""

import pytest

from kit import at, bodies, check
from kit.config import vhost
from kit.process import free_port

# `auto` may stay this far below the segment, because the core adds more bytes later.
SLACK = 64
MTUS = (576, 9000, 40000)

CGI = """\
size, padding, mode = os.environ['QUERY_STRING'].split('-')
data = bodies.text(int(size))
head('Content-Type: text/plain', *(['X-Padding: ' + 'p' * int(padding)] if padding != '0' else []))
step = {'whole': len(data), 'bytes': 50}[mode]
for at in range(0, len(data), step):
    out(data[at:at + step])
"""


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(
        "Elastic On\n" + at("none", "ElasticMinSize 0")
        + at("one", "ElasticMinSize 1") + at("padded", "Header set X-Padding " + "p" * 500)
        + vhost("localhost") + "".join(vhost(f"mtu-{mtu}", f"ElasticMTU {mtu}") for mtu in MTUS),
        tls=True, h2=True, ipv6=True, cgi={"body.cgi": CGI}, files={"0.txt": b""})


def _largest_identity(server, prefix="", protocol="http/1.1", ipv6=False, address=None,
                      headers=None):
    """The response with the largest static body that stays uncompressed, by bisection."""

    def ask(size):
        server.write("sized.txt", bodies.text(size))
        with server.connect(protocol, ipv6=ipv6, host=address) as connection:
            answer = connection.request(f"{prefix}/sized.txt", ae="gzip", headers=headers)
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


@pytest.mark.smoke
@pytest.mark.parametrize("prefix,kept,version,host,payload", [
    ("", False, "http/1.1", "localhost", 1448), ("/padded", False, "http/1.1", "localhost", 1448),
    # Browsers ask for a kept connection; httpd then adds Keep-Alive and Connection.
    ("", True, "http/1.1", "localhost", 1448), ("", True, "http/1.0", "localhost", 1448),
    *(("", False, "http/1.1", f"mtu-{mtu}", mtu - 52) for mtu in MTUS)])
def test_what_fits_a_segment_with_its_header_stays(server, prefix, kept, version, host, payload):
    fields = {"Host": host, **({"Connection": "keep-alive"} if kept else {})}
    answer = _largest_identity(server, prefix, headers=fields, protocol=version)
    assert ("Keep-Alive" in answer.headers) == kept
    assert payload - SLACK <= len(answer.head) + len(answer.raw) <= payload


def test_ipv4_by_a_socket_of_both_has_ipv4s_segment(httpd):
    """As Debian's `Listen 80` makes it: the server sees an IPv4-mapped address (RFC 4291)."""
    port = free_port("::")
    both = httpd(f"Elastic On\nListen [::]:{port}\n")
    both.v6_port = port
    four, mapped, six = (
        len(_largest_identity(both, ipv6=ipv6, address=address).raw)
        for ipv6, address in ((False, None), (True, "127.0.0.1"), (True, "::1")))
    assert four == mapped == six + 20


def test_ipv6_leaves_twenty_bytes_less(server):
    """Only the address family differs, and the digits of the port are not in the response. A TLS
    record takes some bytes."""
    four, six, tls = (_largest_identity(server, **kw)
                      for kw in ({}, {"ipv6": True}, {"protocol": "tls"}))
    assert len(six.head) + len(six.raw) <= 1428
    assert len(four.raw) - len(six.raw) == 20
    assert 20 <= len(four.raw) - len(tls.raw) <= 40


@pytest.mark.protocols("h2c", "h2")
def test_h2_asks_its_master_connection(server, protocol):
    """A stream's own socket would answer 536."""
    size = len(_largest_identity(server, protocol=protocol).raw)
    assert 1448 - 500 <= size <= 1448


@pytest.mark.smoke
def test_no_threshold_helps_an_empty_body(server):
    """test_merge.py shows the edges of a fixed size."""
    server.write("one.txt", b"x")
    for prefix in ("/none", "/one"):
        check.encoded(server.get(f"{prefix}/one.txt", ae="identity;q=0, gzip"), "gzip", b"x")
        check.whole(server.get(f"{prefix}/0.txt", ae="gzip"), None, b"")


@pytest.mark.parametrize("mode", ["whole", "bytes"])
def test_bodies_of_unknown_length_are_held_until_their_size_is_known(server, mode):
    small = check.once(lambda: server.get(f"/body.cgi?700-0-{mode}", ae="gzip"),
                       lambda answer: answer.coding is None)
    check.plain(small, bodies.text(700))
    assert server.reason(small) == "small"
    assert mode != "whole" or small.headers.get("Content-Length") == "700"
    for size, padding in ((1500, 0), (700, 800)):
        answer = server.get(f"/body.cgi?{size}-{padding}-{mode}", ae="gzip")
        check.encoded(answer, "gzip", bodies.text(size))
