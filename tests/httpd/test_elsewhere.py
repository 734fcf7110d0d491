"""Clients that are not this machine: real segments, real links, and rules for loopback only."""

import pytest

from kit import bodies, check, dictionary, elsewhere, env
from test_visitor import FIELD, token_of

pytestmark = pytest.mark.network

PROTOCOLS = pytest.mark.protocols("http/1.1", "tls", "h2c", "h2")
HOST = {"Host": "localhost"}


@pytest.fixture(scope="module")
def net():
    with elsewhere.network() as found:
        yield found


@pytest.fixture(scope="module")
def server(net, httpd_shared):
    # The kernel knows the segment's size; ElasticMTU is only for connections without one.
    made = httpd_shared("", start=False, tls=True, h2=env.possible("h2"),
                        files={"page.html": dictionary.PAGE, "dict.html": dictionary.DICT})
    made.configure(
        elsewhere.LISTEN + elsewhere.listen_tls(made) + dictionary.STORE + dictionary.PINNED
        + "ElasticMTU 9000\nAlias /d {docs}\nAlias /pages {docs}\n<Location /d>\n"
        + f'ElasticDictionary match="/pages/*"\n{dictionary.WEEK}\n</Location>\n')
    dictionary.make_store(made)
    return made.start()


@PROTOCOLS
@pytest.mark.parametrize("ipv6", [False, True])
def test_a_segment_is_that_of_the_link(net, server, protocol, ipv6):
    """The size is an Ethernet's despite ElasticMTU; for TLS and HTTP/2 it is only known to be below
    9000."""
    size = 1428 if ipv6 else 1448
    for length, coding in ((size - 700, None), (size + 100, "gzip")):
        body = bodies.text(length)
        server.write("sized.txt", body)
        answer = net.get(server, "/sized.txt", "gzip", protocol=protocol, ipv6=ipv6)
        check.whole(answer, coding, body)
        assert server.reason(answer) == (None if coding else "small")
    here = server.get("/sized.txt", "gzip", protocol=protocol)
    check.whole(here, None, body)


@PROTOCOLS
@pytest.mark.parametrize("ipv6", [False, True])
def test_over_plain_http_only_this_machine_has_a_dictionary(net, server, protocol, ipv6):
    """Whatever host name the request gives (RFC 9842 §9: a secure context)."""
    secure = protocol in ("tls", "h2")
    known = {**HOST, "Available-Dictionary": dictionary.field(dictionary.DICT)}
    dictionary.learn(server, Host="localhost")
    given = net.get(server, "/d/dict.html", None, HOST, protocol, ipv6)
    assert given.raw == dictionary.DICT and ("Use-As-Dictionary" in given.headers) == secure
    page = net.get(server, "/pages/page.html", "gzip, dcz", known, protocol, ipv6)
    assert dictionary.body_of(page, dictionary.DICT) == dictionary.PAGE
    assert page.coding == ("dcz" if secure else "gzip")


@PROTOCOLS
def test_a_visitors_token_is_worth_nothing_elsewhere(net, server, protocol):
    with token_of(server) as token:
        answer = net.get(server, "/page.html", None, {FIELD: token}, protocol)
        assert answer.raw == dictionary.PAGE and FIELD not in answer.headers
        assert server.wait_log("Elastic-Visitor is not taken: the connection is not from this")


def test_a_slow_link_gets_fewer_bytes(net, driven):
    """The kernel's measured rate replaces the goal's."""
    d = driven("ElasticLevel br 0 10\nElasticGoal time auto 10kbit/s 1Gbit/s\n" + elsewhere.LISTEN)
    page = d.server.write("page.html", bodies.html(100_000)).read_bytes()
    d.load(5, 6, 5, 6)
    net.shape("100mbit")
    levels = {}
    for rate in ("100mbit", "200kbit"):
        net.shape(rate)
        with net.elsewhere(), elsewhere.connect(d.server) as kept:
            def level():
                answer = kept.request("/page.html", ae="br")
                check.encoded(answer, "br", page)
                return int(d.server.notes(answer)["elastic-level"])

            level()  # before this, the kernel has measured nothing
            levels[rate] = level()
    assert levels["200kbit"] > levels["100mbit"], levels
