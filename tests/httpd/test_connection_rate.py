"""ElasticGoal time auto: the rate of each connection as the kernel reports it. The tests script the
kernel's answers and the clients' addresses: see the library "connection" of kit/faults.py."""

import pytest

from kit import bodies, check, faults
from kit.config import vhost
from kit.driven import start_driven

PAGE = bodies.html(100_000)

# Bytes a second. With the bounds below a saved byte is worth 8 ns or 800 µs; at the known rate of 5
# Mbit/s it is worth 1600 ns.
FAST, SLOW = 10 ** 9, 1250
GOAL = "ElasticLevel br 0 10\nElasticGoal time auto 10kbit/s 1Gbit/s\n"

# The levels of br that these prices pay for. The ranges lie so far apart that no measurement
# confuses them.
LEVELS = {"fast": range(3), "known": range(3, 10), "slow": range(10, 11)}

HOSTS = vhost("plain") + vhost("forwarded", "RemoteIPHeader X-Forwarded-For")


class FarAway:
    def __init__(self, httpd, folder, config="", **kw):
        d = start_driven(httpd, GOAL + config, environ={"CONNECTION": "{root}/connection"},
                         wrapper=faults.wrapper(faults.library(folder, "connection")), **kw)
        self.server = d.server
        self.server.write("page.html", PAGE)
        self.say(FAST)
        d.load(5, 6, 5, 6)

    def say(self, rate, limited=False, size=1000, address="198.18.0.2", address_6="2001:db8::2"):
        """`size` is that of the kernel's structure: 0 for the real answer, below 0 for a socket
        that is not TCP."""
        part = self.server.root / "connection.part"
        part.write_text(f"{address} {address_6} {rate} {int(limited)} {size}\n")
        part.chmod(0o644)
        part.rename(part.with_suffix(""))


@pytest.fixture(scope="module")
def far(httpd_shared, tmp_path_factory):
    return FarAway(httpd_shared, tmp_path_factory.mktemp("connection"), HOSTS, h2=True, ipv6=True,
                   modules=("remoteip",))


def rate_by(server, answer):
    """The name in LEVELS of the response's level."""
    check.encoded(answer, "br", PAGE)
    level = int(server.notes(answer)["elastic-level"])
    return next(name for name, levels in LEVELS.items() if level in levels)


@pytest.mark.protocols("http/1.1", "h2c")
def test_each_connection_has_its_own_rate(far, protocol):
    """The rate is read for each response, also on one connection."""
    with far.server.connect() as kept:
        for rate, name in ((SLOW, "slow"), (FAST, "fast"), (SLOW, "slow")):
            far.say(rate)
            answer = kept.request("/page.html", ae="br") if protocol == "http/1.1" else \
                far.server.get("/page.html", ae="br", protocol=protocol)
            assert rate_by(far.server, answer) == name


V6 = {"ipv6": True}
PROXIED = [{"headers": {name: value}} for name, value in (
    ("Via", "1.1 proxy"), ("X-Forwarded-For", "192.0.2.1"), ("Forwarded", "for=192.0.2.1"))] + [
    # mod_remoteip removes the field.
    {"headers": {"Host": "forwarded", "X-Forwarded-For": "192.0.2.1"}}]


# (the kernel's answer, the request, the rate that counts)
@pytest.mark.parametrize("said,asked,name", [
    *(({"rate": rate}, asked, "known") for rate in (SLOW, FAST) for asked in PROXIED),
    ({"rate": SLOW}, {"headers": {"Host": "forwarded"}}, "slow"),
    # A client on this machine.
    ({"rate": SLOW, "address": "127.0.0.1"}, {}, "known"),
    ({"rate": SLOW, "address": "127.8.8.8"}, {}, "known"),
    ({"rate": SLOW, "address_6": "::1"}, V6, "known"),
    ({"rate": SLOW, "address_6": "::ffff:127.0.0.1"}, V6, "known"),
    ({"rate": SLOW, "address_6": "::ffff:198.18.0.2"}, V6, "slow"),
    ({"rate": SLOW}, V6, "slow"),
    # Not TCP, an old kernel, a truncated structure, and nothing sent so far.
    *(({"rate": SLOW, "size": size}, {}, "known") for size in (-1, 104, 167)),
    ({"rate": 0}, {}, "known"),
    # A rate that the application limited can only raise the known one.
    ({"rate": SLOW, "limited": True}, {}, "known"), ({"rate": FAST, "limited": True}, {}, "fast")])
def test_whose_rate_counts(far, said, asked, name):
    far.say(**said)
    assert rate_by(far.server, far.server.get("/page.html", ae="br", **asked)) == name


def test_what_the_kernel_really_says(httpd, tmp_path):
    """The first response has no measured rate. The kernel counts wall-clock time, so the rate
    varies if other processes use the CPU."""
    far = FarAway(httpd, tmp_path)
    far.say(0, size=0)
    with far.server.connect() as kept:
        def rate():
            return rate_by(far.server, kept.request("/page.html", ae="br"))

        assert rate() == "known"
        far.server.wait_for(lambda: rate() == "fast", 30, "a fast response")
