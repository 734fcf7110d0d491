"""A site of similar pages, and elastic-dictionary for it."""

import hashlib
import html
import json
import os
import pathlib
import re
import subprocess

from . import client, env
from .dictionary import field

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "scripts" / "dictionary"
HOST = "www.example.test"
COUNT = 16


def words(seed, count):
    return " ".join(hashlib.sha256(f"{seed} {n}".encode()).hexdigest()[:9] for n in range(count))


def page(number, template, head=""):
    return (f"<html><head><title>{number}</title>{head}</head><nav>{words(template, 400)}</nav>"
            f"<p>{words(number, 150)}</p></html>").encode()


def pages(template="first", head=""):
    return {f"/{n}.html": page(n, template, head) for n in range(COUNT)}


def listing(paths):
    return ("<html>" + "".join(f'<a href="{path}">{path}</a>' for path in paths)
            + words("index", 50) + "</html>").encode()


class Site:
    """An https site, with the folders that `enable` writes to. `server` has root and log."""

    def __init__(self, server, port, ca):
        self.server, self.port, self.ca = server, port, ca
        self.root = server.root
        self.out, self.store = self.root / "out", self.root / "store"
        self.url = self.url_of(HOST)
        self.more = []  # further arguments of `enable`
        self.environ = {}

    def url_of(self, host):
        return f"https://{host}:{self.port}"

    def run(self, command, *words_, code=0, answer="", host=HOST, log=None):
        """Returns the output of the command; `log` is a file that gets it while the command
        runs."""
        words_ = [f"{self.url_of(host)}/"] * (command == "enable") + [*map(str, words_)]
        if command == "enable":
            words_ += ["--cafile", self.ca, "--store", self.store, "--rate", "1000",
                       "--spread", "1000", *self.more]
        log = log or self.root / f"said-{command}"
        with open(log, "wb") as file:
            done = subprocess.run(
                [env.PYTHON, SCRIPT, command, *words_, "--out", self.out], input=answer.encode(),
                stdout=file, stderr=subprocess.STDOUT, timeout=300, check=False,
                env={**os.environ, **self.environ})
        said = log.read_text()
        assert done.returncode == code, said
        return said

    def get(self, path, ae="gzip, br, zstd", dictionary=b"", host=HOST, **more):
        fields = {"Host": f"{host}:{self.port}"}
        if dictionary:
            fields["Available-Dictionary"] = field(dictionary)
        fields.update({name.replace("_", "-"): value for name, value in more.items()})
        with client.Connection(("127.0.0.1", self.port), True, name=host) as connection:
            return connection.request(path, "GET", ae, fields)

    def visit(self, path, dictionary, host=HOST):
        return self.get(path, "gzip, br, zstd, dcz", dictionary, host, Sec_Fetch_Dest="document",
                        Sec_Fetch_Mode="navigate", Sec_Fetch_Site="none")

    def link(self, path="/0.html", host=HOST):
        """Returns the dictionary that pages name; None if there is none."""
        found = re.findall(
            r'^<(/\.well-known/elastic-dictionary/[0-9a-f]{32})>; rel="compression-dictionary"$',
            self.get(path, host=host).headers.get("Link", ""))
        return found[0] if found else None

    def shown(self):
        """The sites on httpd's status page; None: it has no dictionaries."""
        text = self.server.get("/elastic-status").body.decode()
        found = re.search("(?s)<h2>Dictionaries</h2>(.*?)<table>", text)
        return found and html.unescape(found[1]).strip()

    def dictionary(self, url, host=HOST):
        answer = self.get(url, host=host)
        assert answer.status == 200, answer
        assert answer.headers["Use-As-Dictionary"] == 'match="/*", match-dest=("document")'
        return answer.body

    def state(self):
        return json.loads((self.out / "state.json").read_text())["sites"][0]


def files_of(*folders):
    """{path: content} of the existing files."""
    return {path: path.read_bytes() for folder in folders
            for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()}
