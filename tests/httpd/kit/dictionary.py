"""Dictionaries (RFC 9842): their folder, clients that have one, and the program zstd as a decoder.
"""

import base64
import hashlib
import os
import subprocess

from . import env

DCZ_HEAD = bytes.fromhex("5e2a4d1820000000")


def store_of(server):
    return server.root / "dictionaries"


def make_store(server):
    """The folder of dictionaries, of httpd's user."""
    store = store_of(server)
    store.mkdir(mode=0o700)
    if env.IS_ROOT:
        user = env.child_user()
        os.chown(store, user.pw_uid, user.pw_gid)
    return store


def field(body):
    """Available-Dictionary of who has `body`."""
    return f":{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def decoded(answer, dictionary, folder):
    """The body of a dcz response, by the program zstd."""
    raw = answer.raw
    assert answer.complete and answer.coding == "dcz", answer
    assert raw[:8] == DCZ_HEAD and raw[8:40] == hashlib.sha256(dictionary).digest()
    (folder / "dictionary").write_bytes(dictionary)
    (folder / "frame").write_bytes(raw[40:])
    done = subprocess.run(["zstd", "-dcq", f"--patch-from={folder}/dictionary", f"{folder}/frame"],
                          capture_output=True, timeout=60, check=True)
    return done.stdout


def learn(server, path="/d/dict.html", protocol="http/1.1", **headers):
    """The server gives the dictionary out."""
    answer = server.get(path, protocol=protocol, headers=headers)
    assert "Use-As-Dictionary" in answer.headers, answer
