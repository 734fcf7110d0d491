"""A visitor whom httpd takes for one from elsewhere (src/httpd/request/request.h), so that access
rules, rewrites and applications show what strangers see."""

import fcntl
import hashlib
import os
import secrets
import signal

from dictionarykit import exchange, failure, files

FILE, FIELD = "elastic.visitor", "Elastic-Visitor"
FRESH = 300  # seconds after which the file is touched; httpd takes it for 900


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def plain(reach):
    """The same site as an ordinary visitor of this machine."""
    return reach._replace(fields={}, proof=())


class Stranger:
    """A context manager, whose value is how the site is reached. The token counts while this
    process lives, and has the file locked."""

    def __init__(self, server, addresses, context):
        self.path, self.file = os.path.join(server.run_folder(), FILE), None
        self.addresses, self.context = addresses, context

    def __enter__(self):
        token = secrets.token_hex(32)
        try:
            files.replace(self.path, f"elastic-visitor 1\nsha256 {sha256(token)}\n".encode())
            self.file = open(self.path, "r+b")
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise failure.Failed(f"{self.path}: {problem.strerror}: another elastic-dictionary may "
                                 "be at work") from None
        signal.signal(signal.SIGALRM, lambda *_: os.utime(self.path))
        signal.setitimer(signal.ITIMER_REAL, FRESH, FRESH)
        return exchange.Reach(self.addresses, self.context, 0, {FIELD: token},
                              (FIELD.lower(), sha256("taken " + token)))

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0)
        files.remove(self.path)
        self.file.close()
