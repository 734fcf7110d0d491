"""A site, the clients of each protocol that ask it, and the judge of its answers."""

from collections import Counter

from kit import env

from . import http1, http2
from .judge import Judge

# Lines of the server's log that are told with a complaint.
LOGGED = 3


class Target:
    def __init__(self, site):
        self.site = site
        self.name = site.name
        plain, secure = site.address(), site.address(tls=True)
        self.clients = {"http1": http1.Client(plain), "tls": http1.Client(secure, tls=True),
                        "http2": http2.Client(plain), "tls-http2": http2.Client(secure, tls=True)}
        if env.MPM == "prefork":  # which has no HTTP/2
            self.clients["http2"] = self.clients["http1"]
            self.clients["tls-http2"] = self.clients["tls"]
        self._asker = http1.Client(plain)
        self.identities = {}
        self.judge = Judge(self._identity, () if site.kind.elastic else ("/tagged",))
        self.counts = Counter()  # answers, by coding
        self.logged = []  # by the server during the last batch, where there were complaints

    def _identity(self, resource):
        """(status, body, fields) of the resource as it is."""
        if resource not in self.identities:
            self.identities[resource] = self._ask_identity(resource)
        return self.identities[resource]

    def _ask_identity(self, resource):
        request = http1.Request("GET", resource)
        if resource == "PROPFIND":
            request = http1.Request("PROPFIND", "/dav/still/a.txt", (("Depth", "0"),))
        for _ in range(http1.ATTEMPTS):
            answer = self._asker.exchange([request])[0]
            if answer.whole and answer.status < 500:
                break
        assert answer.whole and not answer.coding, (resource, answer)
        return answer.status, answer.raw, answer.headers

    def ask(self, protocol, batch):
        """Complaints about the answers, as (case, answer, sentence)."""
        self.site.server.log.unexpected()
        answers = self.clients[protocol].exchange([case.request for case in batch])
        found = []
        for case, answer in zip(batch, answers, strict=True):
            self.counts[answer.coding or "identity"] += 1
            if case.request.method == "HEAD" and "http2" in protocol:
                answer.raw = b""  # mod_http2 of httpd 2.4.71 sends the body of a script
            wrong = self.judge.complaint(case, answer)
            if wrong:
                found.append((case, answer, wrong))
        self.logged = self.site.server.log.unexpected() if found else []
        return found

    def encoded(self):
        return sum(self.counts.values()) - self.counts["identity"]

    def close(self):
        for client in self.clients.values():
            client.close()
        self._asker.close()


def said(number, target, protocol, complaint):
    """A complaint of ask() as a line, with what it takes to see it again, and the errors that the
    server has logged during the batch."""
    case, answer, wrong = complaint
    logged = "".join(f" | {line[:300]}" for line in target.logged[-LOGGED:])
    return f"batch {number}, {target.name}, {protocol}: {wrong}: {case} -> {answer.status} " \
           f"{answer.coding} {len(answer.raw)} bytes{logged}"
