"""Pages behind a proxy: an origin on the load's CPU, and servers in front of it.

The origin's pages are the same text below a first line. /page/N and /body/N are the same whenever
they are asked for, and those of no two N alike; /unique/… is another one each time.
"""

import dataclasses

from benchkit import corpus, handler, rounds, server
from benchkit.setups import NOTHING, Setup, mod_deflate, ours

KB = corpus.KB
PAGE_BYTES = 120 * KB
BODY_BYTES = 16 * KB

SCRIPT = """
local function read(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("a")
    file:close()
    return text
end
local texts = {{page = read("{page}"), body = read("{body}")}}
local count = 0
local function answer(r, first, text)
    r.content_type = "text/html"
    r.headers_out["Content-Length"] = tostring(#first + #text)
    r.headers_out["Cache-Control"] = "private"
    r:write(first)
    r:write(text)
    return apache2.OK
end
function same(r)
    return answer(r, "<!-- " .. r.uri .. " -->\\n", texts[r.uri:match("^/(%a+)/")])
end
function unique(r)
    count = count + 1
    return answer(r, string.format("<!-- %s %d %d -->\\n", tostring(r), r:clock(), count),
                  texts.page)
end
"""

SNIPPET = """
LuaScope thread
LuaMapHandler ^/(page|body)/ {script} same
LuaMapHandler ^/unique/ {script} unique
"""

PROXY = """
ProxyPass /page {url}page
ProxyPass /body {url}body
ProxyPass /unique {url}unique
"""
PROXY_MODULES = ("proxy", "proxy_http")

STORE = "ElasticCache On\nElasticCacheStore shmcb:({store_bytes})\n"
STORE_BYTES = 64 * KB * KB

# A visitor's own page: nobody else's, and nothing that a cache downstream may keep.
PRIVATE = {"Cookie": "session=b1946ac92492d2347c6235b4d2611184"}

IDENTITY, STOCK = "identity", "mod_deflate 6"
ALL_CODINGS = "zstd, br, gzip"


def cached(setup, store_bytes=STORE_BYTES):
    """The setup, with the cache."""
    return dataclasses.replace(setup, snippet=setup.snippet
                               + STORE.replace("{store_bytes}", str(store_bytes)))


OURS = ours("gzip", 6)
SETUPS = {
    IDENTITY: NOTHING,
    STOCK: mod_deflate(6),
    "gzip": OURS,
    "gzip, cache": cached(OURS),
    "all codings, cache": cached(Setup("Elastic On\n")),
}


@dataclasses.dataclass(frozen=True)
class Leg(rounds.Leg):
    """A leg whose client is a visitor with a cookie."""

    private: bool = True

    @property
    def headers(self):
        return {**super().headers, **(PRIVATE if self.private else {})}


class Origin:
    """What writes the pages; and how to serve them."""

    def __init__(self, run):
        self.run = run
        folder = run.folder("origin-pages")
        text = corpus.document(PAGE_BYTES, run)
        run.add_corpus("page", [text], corpus.document_origin(run))
        self.texts = {"page": text, "body": text[:BODY_BYTES]}
        for name, body in self.texts.items():
            (folder / name).write_bytes(body)
        script = folder / "pages.lua"
        script.write_text(SCRIPT.format(page=folder / "page", body=folder / "body"),
                          encoding="utf-8")
        self.httpd = server.Httpd(run, "origin", SNIPPET.replace("{script}", str(script)),
                                  modules=handler.MODULES, elastic=False, threads=64,
                                  cpu=run.load_cpu).start()

    def body(self, path):
        """What /page/N or /body/N has."""
        return f"<!-- {path} -->\n".encode() + self.texts[path.split("/")[1]]

    def front(self, name, setup, more="", **options):
        """A started server of a setup in front of it."""
        modules = PROXY_MODULES + ("socache_shmcb",) * ("ElasticCacheStore" in setup.snippet)
        proxy = PROXY.replace("{url}", self.httpd.url("/"))
        return setup.serve(self.run, self.run.new_name(name.replace(",", "")), proxy + more,
                           modules, **options).start()
