"""The kit for tests of mod_elastic against a real httpd.

    server = httpd("Elastic On", files={"a.txt": bodies.text(5000)})  # a fixture of kit.fixtures
    answer = server.get("/a.txt", ae="gzip")
    assert answer.coding == "gzip" and answer.body == bodies.text(5000)
    assert server.notes(answer)["elastic-level"] == "6"

kit.env      the settings of the environment: paths, MPM, protocols
kit.server   Server: a private httpd in a directory of its own, and its log's check
kit.debian   Debian: the same below a copy of Debian's /etc/apache2, with a2enmod and apache2ctl
kit.fixtures the fixtures, a plugin of pytest
kit.client   Response, Connection, Stream, Client: exact bytes in and out; kit.http2 for HTTP/2
kit.config   at(): the site once more with other directives in force
kit.check    frequent assertions on responses: encoded(), plain()
kit.cache    mod_cache in the same httpd, and its note in responses
kit.keep     a server with a cache of encodings, and its pages
kit.decode   strict decoders of whole bodies and of streams
kit.bodies   deterministic bodies of any size
kit.origin   Origin: a small scriptable server behind mod_proxy
kit.proxied  the filter in each way behind mod_proxy; another backend: kit.fpm
kit.chromium Chromium: a browser, and pages of visitors with empty profiles
kit.elasticd Elasticd: a real one, on a machine whose load the test sets
kit.neighbours  Way: each way that brings our filter into a chain, for tests of other modules
"""

from . import bodies, check, decode, env
from .client import Connection, Response, Stream
from .config import at
from .origin import Origin
from .server import CGID_RELOADED, Server

__all__ = ["CGID_RELOADED", "Connection", "Origin", "Response", "Server", "Stream", "at", "bodies",
           "check", "decode", "env"]
