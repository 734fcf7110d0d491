"""The servers, one for each way to compress, over the same folder; and what a dictionary takes."""

import contextlib
import dataclasses
import hashlib
import os
import pwd

from benchkit import fpm, sample, server, stats, tools
from benchkit.dictionary.cases import LARGE, LAST, SMALL
from benchkit.setups import NOTHING, Setup, mod_deflate, ours
from codeckit.dictionaries import field

MODULES = ("headers", *fpm.MODULES)

DICTIONARIES = """
Elastic On
ElasticControl off
ElasticLevel br 5 5
ElasticLevel zstd LEVEL LEVEL
ElasticDictionaryStore "{folder}/dictionaries"
<Location "/dictionaries/">
    ElasticDictionary match="/*" match-dest="document"
    Header set Cache-Control "public, max-age=604800"
    ForceType text/plain
</Location>
<Location "/assets/">
    ElasticDictionary match="/assets/*" match-dest="script"
    Header set Cache-Control "public, max-age=31536000"
</Location>
<Location "/manual/">
    ElasticDictionaryLink "/dictionaries/manual-0.dict"
</Location>
<LocationMatch "^/(wiki|dokuwiki)/">
    ElasticDictionaryLink "/dictionaries/wiki-0.dict"
</LocationMatch>
"""


def dictionaries(level):
    """The setup of a server with dictionaries, whose dcz has a level."""
    return Setup(DICTIONARIES.replace("LEVEL", str(level)), coding="dcz")


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to compress: the server's setup, and what its client takes and has."""

    name: str
    setup: Setup
    accept: str
    dictionaries: tuple = ()  # which of them its client would have

    @property
    def difference(self):
        """The coding that a page then has."""
        return self.accept.rpartition(" ")[2]


IDENTITY, STOCK, BR = "identity", "mod_deflate 6", "br 5"
DCZ, DCZ_HIGH = "dcz 3", "dcz 9"
DCZ_SMALL, DCB = "dcz 3, for a visit", "dcb 5"
SIBLING = "br 11"  # a precompressed file
WITH = dictionaries(3)
WAYS = (
    Way(IDENTITY, NOTHING, "identity"),
    Way(STOCK, mod_deflate(6), "gzip"),
    Way("gzip 6", ours("gzip", 6), "gzip"),
    Way(BR, ours("br", 5), "br"),
    Way("zstd 3", ours("zstd", 3), "zstd"),
    Way(DCZ, WITH, "br, dcz", (LARGE, LAST)),
    Way(DCZ_HIGH, dictionaries(9), "br, dcz", (LARGE, LAST)),
    Way(DCZ_SMALL, WITH, "br, dcz", (SMALL,)),
    Way(DCB, WITH, "br, dcb", (LARGE, LAST)))
WAY = {way.name: way for way in WAYS}


def request(way, dest, dictionary=None):
    """The fields of a request of who has the dictionary's content, or None."""
    fields = {"Accept-Encoding": way.accept, "Sec-Fetch-Site": "same-origin",
              "Sec-Fetch-Dest": dest,
              "Sec-Fetch-Mode": "navigate" if dest == "document" else "no-cors"}
    if dictionary is not None:
        fields["Available-Dictionary"] = field(dictionary)
    return fields


class Servers:
    """{way: started httpd}, ways of one setup sharing theirs."""

    def __init__(self, run, site, more="", helpers=()):
        self.run, self.site = run, site
        self.by_setup = {}
        for way in WAYS:
            if way.setup not in self.by_setup:
                self.by_setup[way.setup] = self.start(way.setup, more, helpers)
        self.store = self.of(WAY[DCZ]).folder / "dictionaries"

    def start(self, setup, more, helpers):
        httpd = setup.serve(self.run, self.run.new_name("httpd"), more, MODULES, site=self.site,
                            children=1)
        make_store(httpd.folder / "dictionaries")
        httpd.start()
        httpd.helpers = list(helpers)
        return httpd

    def of(self, way):
        return self.by_setup[way.setup]

    def learn(self, cases):
        """The servers of dictionaries give them out."""
        for setup, httpd in self.by_setup.items():
            if setup.coding == "dcz":
                give_out(httpd, cases)

    def has_dcb(self, case):
        """Whether the module was built with a libbrotli that knows dictionaries."""
        step = next(step for step in case.steps if step.dictionaries)
        fields = request(WAY[DCB], case.dest, step.dictionary(WAY[DCB].dictionaries).content)
        return self.of(WAY[DCB]).get(step.path, fields)[1].get("Content-Encoding") == DCB


def give_out(httpd, cases):
    """A server gives out all that are dictionaries in the cases; BenchError where it does not."""
    wanted = {one.path: case.dest for case in cases for step in case.steps
              for one in step.dictionaries.values()}
    for path, dest in wanted.items():
        status, headers, _ = httpd.get(path, {"Sec-Fetch-Dest": dest,
                                              "Sec-Fetch-Mode": "navigate"})
        if status != 200 or "Use-As-Dictionary" not in headers:
            raise tools.BenchError(f"{path} did not become a dictionary: {status}")


def make_store(folder):
    """Of httpd's user, and of nobody else."""
    folder.mkdir(mode=0o700)
    if server.unprivileged_user():
        user = pwd.getpwnam(server.unprivileged_user())
        os.chown(folder, user.pw_uid, user.pw_gid)


AGAIN = 9  # requests beside which the first one's preparing is seen


def needs(servers, cases):
    """What the dictionaries take of the server: a row for each."""
    way = WAY[DCZ]
    rows = []
    for case in cases:
        step = next(step for step in case.steps if step.dictionaries)
        for key, one in step.dictionaries.items():
            first, others, memory = prepared(servers.of(way), step.path, request(
                way, case.dest), request(way, case.dest, one.content))
            rows.append({
                "case": case.name, "dictionary": one.name, "for": key,
                "bytes": len(one.content), "to_send": one.transfer, "memory_kb": memory,
                "disk_kb": round(disk(servers.store, one.content) / 1024, 1),
                "prepare_usec": round(1e6 * max(0.0, first - stats.median(others)))})
    return rows


def prepared(httpd, path, without, fields):
    """(CPU seconds of the first request with a dictionary, those of others, KB that it took)."""
    pids = sample.family(httpd.pids, sample.read_parents())
    used = []
    with contextlib.closing(httpd.connect()) as connection:
        for _ in range(AGAIN):
            httpd.ask(connection, path, without)
        before = sample.memory_kb(pids)
        for number in range(1 + AGAIN):
            start = sample.cpu_of(pids)
            httpd.ask(connection, path, fields)
            used.append(sample.cpu_of(pids) - start)
            if number == 0:
                memory = sample.memory_kb(pids) - before
    return used[0], used[1:], memory


def disk(store, content):
    """Bytes of a dictionary and its entries in the folder."""
    name = hashlib.sha256(content).hexdigest()
    return sum(path.stat().st_size for path in store.glob(name + "*"))
