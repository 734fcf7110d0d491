"""A reverse proxy whose responses pass our filter, added in several ways.

    server = proxied.start(httpd_shared, proxied.config(origin.url))
    server.get("/on/x", ae="gzip")                  # the origin's /x, with `Elastic On`

    @proxied.EACH                                   # way, coding
    def test(server, way, coding): server.get(way.path("x"), ae=coding)
"""

import contextlib

import pytest

from .neighbours import name_of, of
from .process import until

RECORDS = ("elastic", "deflate", "brotli")
WAYS = of("on", "named", "dropin", "dropin-by-type")


def _each(ways):
    return pytest.mark.parametrize(
        "way,coding", [(way, coding) for way in ways for coding in way.codings], ids=name_of)


EACH = _each(WAYS)
EACH_OWN = _each([way for way in WAYS if not way.stock])  # with our own defaults
EACH_WAY = pytest.mark.parametrize("way", WAYS, ids=name_of)


def start(httpd, text, modules=(), **kw):
    """A server from the fixture `httpd`, with all modules of the ways and mod_proxy_http."""
    return httpd(text, modules=["filter", "proxy", "proxy_http", *modules], records=RECORDS, **kw)


def locations(*lines, prefix=""):
    """<Location /prefix+name/> with `lines` (in which %s is the way's name), for each way."""
    text = ""
    for way in WAYS:
        own = "\n".join(line.replace("%s", way.name) for line in lines)
        text += f"<Location /{prefix}{way.name}/>\n{way.lines}\n{own}\n</Location>\n"
    return text


def config(url, *lines, parameters="", prefix=""):
    """The origin at `url` behind /prefix+name/, for each way; `parameters` are the worker's."""
    worker = f"<Proxy {url}/>\nProxySet {parameters}\n</Proxy>\n" if parameters else ""
    return worker + locations(f"ProxyPass {url}/", *lines, prefix=prefix)


# For CGI scripts that stop between two parts; see Steps.
WAIT = """\
def wait(n):
    for turn in range(2000 if n else 0):
        if os.path.exists(os.environ['KIT'] + '/steps/%d' % n):
            break
        time.sleep(.01)
"""


class Steps:
    """Scripts on `server`, and origins, make a part of a body when the test has seen the part
    before: they wait for a file, but not forever."""

    def __init__(self, server):
        self._folder = server.root / "steps"
        self._folder.mkdir()
        self._folder.chmod(0o755)

    def wait(self, n):
        with contextlib.suppress(TimeoutError):
            until(lambda: (self._folder / str(n)).exists(), 20, f"step {n}")

    def parts(self, parts):
        """`parts` for Origin.chunked() and similar functions."""
        for n, part in enumerate(parts):
            if n:
                self.wait(n)
            yield part

    def go(self, n):
        (self._folder / str(n)).touch()

    def clear(self):
        for file in self._folder.iterdir():
            file.unlink()

    def check(self, server, path, coding, parts, protocol="http/1.1"):
        """Each part can be decoded before the next is made."""
        self.clear()
        with server.stream(path, ae=coding, protocol=protocol) as stream:
            assert (stream.status, stream.coding) == (200, coding)
            for n in range(1, len(parts) + 1):
                stream.wait_for(b"".join(parts[:n]), 10)
                self.go(n)
            assert stream.read_all() == b"".join(parts)
