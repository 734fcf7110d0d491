"""A server of each kind: `Elastic On`, our filters under the names of the stock ones, and the stock
modules; what its log says of the answers; and clients that are commands.

    server = kind.start(httpd, "Alias /a {docs}", ["dav"])   # or by the fixture `site`
    encoded(server)                                          # the answers that had a coding
"""

import os
import subprocess
from typing import NamedTuple

from kit import env
from kit.process import need

TYPES = "text/html text/plain text/css text/xml text/event-stream application/javascript " \
        "text/javascript application/json image/svg+xml application/wasm"
_BY_TYPE = f"AddOutputFilterByType BROTLI_COMPRESS;DEFLATE {TYPES}"
_LOG = 'LogFormat "%m\\t%U%q\\t%H\\t%>s\\t%B\\t%{Accept-Encoding}i\\t%{Content-Encoding}o\\t' \
       '%{Range}i\\t%{sent_coding}e\\t%{User-Agent}i" clients\n' \
       "SetEnvIf Content-Encoding (.+) sent_coding=$1\n" \
       "CustomLog {root}/clients.log clients\n"


class Answer(NamedTuple):
    """A line of the log; fields that were not there are "-"."""
    method: str
    path: str
    protocol: str
    status: str
    sent: str
    accept: str
    coding: str
    range: str
    sent_coding: str  # of the request's body
    agent: str


class Kind(NamedTuple):
    name: str
    on: str  # for the types that sites compress
    every: str  # for every type
    inflate: str  # for bodies of requests
    records: tuple = ()  # of ours

    @property
    def stock(self):
        return not self.records

    def start(self, httpd, config="", modules=(), on=True, **kw):
        """A server from the fixture `httpd`; with `on`, it compresses everywhere."""
        modules = ["filter", *modules, *(["deflate", "brotli"] if self.stock else [])]
        return httpd(_LOG + (self.on if on else "") + "\n" + config, modules=modules,
                     elastic=not self.stock, records=self.records, **kw)


_NAMED = "SetOutputFilter BROTLI_COMPRESS;DEFLATE"
KINDS = (
    Kind("elastic", "Elastic On", "Elastic On\nElasticTypes text/* application/*",
         "ElasticInflate On", ("elastic",)),
    Kind("drop-in", _BY_TYPE, _NAMED, "SetInputFilter DEFLATE", ("deflate", "brotli")),
    Kind("stock", _BY_TYPE, _NAMED, "SetInputFilter DEFLATE"),
)


def answers(server):
    try:
        lines = (server.root / "clients.log").read_text(errors="replace").splitlines(True)
    except FileNotFoundError:
        return []
    return [Answer(*line[:-1].split("\t")) for line in lines if line.endswith("\n")]


def encoded(server):
    return [answer for answer in answers(server)
            if answer.coding not in ("-", "identity") and answer.status[0] == "2"]


def logged(server, count=1, **fields):
    """Waits for so many answers whose fields are these; they."""
    def found():
        return [answer for answer in answers(server)
                if all(getattr(answer, name) == value for name, value in fields.items())]

    server.wait_for(lambda: len(found()) >= count, 10, f"{count} answers with {fields}")
    return found()


def run(*command, cwd=None, status=0, input=None, **environ):
    need(command[0])
    done = subprocess.run([*map(str, command)], cwd=cwd, input=input, capture_output=True,
                          timeout=200, env={**os.environ, "LC_ALL": "C", **environ})
    assert done.returncode == status, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def give(path):
    """A folder and all in it to whom httpd's children run as."""
    if env.IS_ROOT:
        user = env.child_user()
        for folder, _, files in os.walk(path):
            for name in (folder, *[os.path.join(folder, name) for name in files]):
                os.chown(name, user.pw_uid, user.pw_gid, follow_symlinks=False)


def row(test):
    """Of the report: from the docstring."""
    clients, _, does = test.function.__doc__.partition(": ")
    [client] = [name for name in clients.split(", ")
                if name == clients or name.lower() in test.callspec.id]
    return f"{client}: {does}"
