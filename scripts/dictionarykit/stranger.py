"""A visitor whom httpd takes for one from elsewhere, so that access rules, rewrites and
applications show what strangers see. Its token is good for as long as the proof of it is in httpd's
run directory, and on connections of this machine only."""

import hashlib
import os
import secrets

from dictionarykit import exchange, files

PROOF, FIELD = "elastic.visitor", "Elastic-Visitor"


def plain(reach):
    """The same site as an ordinary visitor of this machine."""
    return reach._replace(fields={})


class Stranger:
    """A context manager, of which the value is how the site is reached."""

    def __init__(self, server, url, context):
        self.server, self.url, self.context = server, url, context
        self.path = os.path.join(server.run_folder(), PROOF)

    def __enter__(self):
        token = secrets.token_hex(32)
        files.replace(self.path, hashlib.sha256(token.encode()).hexdigest().encode() + b"\n")
        return exchange.Reach(self.server.addresses(self.url), self.context, 0, {FIELD: token})

    def __exit__(self, *_):
        files.remove(self.path)
