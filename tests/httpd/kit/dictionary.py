"""Dictionaries (RFC 9842): their folder, clients that have one, and the programs zstd and brotli as
decoders."""

import base64
import hashlib
import os
import subprocess

from . import bodies, decode, env
from .process import need

# For each coding the bytes before the dictionary's hash, and its decoder, to which the files of the
# dictionary and the frame are added.
CODINGS = {"dcz": (decode.DCZ, ["zstd", "-dcq", "--patch-from={}"]),
           "dcb": (bytes.fromhex("ff444342"), ["brotli", "-dc", "--dictionary={}"])}


DICT = bodies.html(60_000)
PAGE = DICT[:40_000] + b"<p>what is new here</p>" + DICT[40_000:]
STORE = "ElasticDictionaryStore {root}/dictionaries\n"
# With pinned levels the fewest bytes win, however much CPU time they cost.
PINNED = "Elastic On\nElasticControl off\nElasticLevel gzip 6\nElasticLevel br 5\n" \
    "ElasticLevel zstd 3\n"
WEEK = 'Header set Cache-Control "public, max-age=604800"'


def start(httpd, config, files=None, **kw):
    """A server with a folder of dictionaries, and DICT and PAGE as files."""
    server = httpd(STORE + config, start=False,
                   files={"dict.html": DICT, "page.html": PAGE, **(files or {})}, **kw)
    make_store(server)
    return server.start()


def store_of(server):
    return server.root / "dictionaries"


def make_store(server):
    store = store_of(server)
    store.mkdir(mode=0o700)
    if env.IS_ROOT:
        user = env.child_user()
        os.chown(store, user.pw_uid, user.pw_gid)
    return store


def field(body):
    """The field Available-Dictionary of a client with `body`."""
    return f":{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def name_of(body):
    return hashlib.sha256(body).hexdigest()


def ask(server, path="/pages/page.html", ae="gzip, dcz", dictionary=DICT, protocol="http/1.1",
        **more):
    """A request by a client with that dictionary. In the names of other fields, underscores stand
    for hyphens."""
    fields = {"Available-Dictionary": field(dictionary)} if dictionary else {}
    fields.update({name.replace("_", "-"): value for name, value in more.items()})
    return server.get(path, ae=ae, protocol=protocol, headers=fields)


def decoded(answer, dictionary, folder, coding="dcz"):
    """Decodes a response in that coding by the program of its library."""
    begin, decoder = CODINGS[coding]
    head = begin + hashlib.sha256(dictionary).digest()
    assert answer.complete and answer.coding == coding, answer
    assert answer.raw.startswith(head)
    need(decoder[0])
    (folder / "dictionary").write_bytes(dictionary)
    (folder / "frame").write_bytes(answer.raw[len(head):])
    done = subprocess.run(
        [word.format(folder / "dictionary") for word in decoder] + [folder / "frame"],
        capture_output=True, timeout=60, check=True)
    return done.stdout


def body_of(answer, dictionary):
    """Returns the body of a response in any coding, or in dcz with that dictionary."""
    return decode.decode(answer.coding or None, answer.raw, dictionary)


def learn(server, path="/d/dict.html", protocol="http/1.1", **headers):
    answer = server.get(path, protocol=protocol, headers=headers)
    assert "Use-As-Dictionary" in answer.headers, answer
