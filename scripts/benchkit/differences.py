"""Servers with and without compression dictionaries, and visits of pages to them."""

import contextlib
import dataclasses
import os
import pwd

from benchkit import codecs, server
from benchkit.setups import NOTHING, Setup, mod_deflate, ours
from benchkit.tools import BenchError
from codeckit.dictionaries import field

SITE = "documentation site"
SNIPPET = """
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
"""
IDENTITY, STOCK, BR = "identity", "mod_deflate 6", "br 5"


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to compress; with `level`, against a dictionary."""

    setup: Setup
    accept: str
    level: int = 0


WAYS = {IDENTITY: Way(NOTHING, "identity"), STOCK: Way(mod_deflate(6), "gzip"),
        "gzip 6": Way(ours("gzip", 6), "gzip"), BR: Way(ours("br", 5), "br"),
        "zstd 3": Way(ours("zstd", 3), "zstd"),
        **{f"dcz {level}": Way(Setup(SNIPPET.replace("LEVEL", str(level)), coding="dcz"),
                               "br, dcz", level) for level in (3, 9)}}


@dataclasses.dataclass(frozen=True)
class Step:
    case: str
    number: int  # its place in the visit; the first has no dictionary
    path: str
    body: bytes
    dictionary: bytes = b""
    dest: str = "document"

    def fields(self, way):
        found = {"Accept-Encoding": way.accept, "Sec-Fetch-Site": "same-origin",
                 "Sec-Fetch-Dest": self.dest,
                 "Sec-Fetch-Mode": "navigate" if self.dest == "document" else "no-cors"}
        if way.level and self.dictionary:
            found["Available-Dictionary"] = field(self.dictionary)
        return found


def put(site, path, body):
    file = site / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body)


def serve(run, site, way, dictionaries):
    """The httpd of a way, which knows the (path, destination) of all dictionaries."""
    httpd = way.setup.serve(run, run.new_name("httpd"), "", ("headers",), site=site, children=1)
    store = httpd.folder / "dictionaries"
    store.mkdir(mode=0o700)  # for httpd's user only
    if server.unprivileged_user():
        user = pwd.getpwnam(server.unprivileged_user())
        os.chown(store, user.pw_uid, user.pw_gid)
    httpd.start()
    for path, dest in dictionaries:
        status, headers, _ = httpd.get(path, {"Sec-Fetch-Dest": dest, "Sec-Fetch-Mode": "navigate"})
        if status != 200 or "Use-As-Dictionary" not in headers:
            raise BenchError(f"{path} did not become a dictionary: {status}")
    return httpd


def sizes(servers, steps):
    """A row for each way and page; each page is decoded and compared with the expected one."""
    rows = []
    for name, httpd in servers.items():
        with contextlib.closing(httpd.connect()) as connection:
            for step in steps:
                status, headers, body = httpd.ask(connection, step.path, step.fields(WAYS[name]))
                coding = headers.get("Content-Encoding", "")
                if status != 200 or codecs.decode(body, coding, step.dictionary) != step.body:
                    raise BenchError(f"{name}: {step.path} gave {status} and another body")
                rows.append({"case": step.case, "way": name, "page": step.number, "coding": coding,
                             "bytes": len(body)})
        if WAYS[name].level and "dcz" not in {row["coding"] for row in rows if row["way"] == name}:
            raise BenchError(f"{name}: no page came as a difference")
    return rows
