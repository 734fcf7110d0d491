"""A site, the clients of each protocol that ask it, and the judge of its answers."""

from kit import env

from . import cases, http1, http2
from .judge import Judge
from .site import Site

# Beyond so many complaints a server is beyond doubt.
MOST = 30


class Target:
    def __init__(self, kind, origin, config="", **options):
        self.site = Site(kind, origin, config, **options)
        server = self.site.server
        plain, secure = ("127.0.0.1", server.port), ("127.0.0.1", server.tls_port)
        self.clients = {"http1": http1.Client(plain), "tls": http1.Client(secure, tls=True)}
        # prefork has no HTTP/2.
        has_http2 = env.MPM != "prefork"
        self.clients["http2"] = http2.Client(plain) if has_http2 else self.clients["http1"]
        self.clients["tls-http2"] = http2.Client(secure, True) if has_http2 else self.clients["tls"]
        self._asker = http1.Client(plain)
        self.identities = {}
        self.judge = Judge(self._identity, () if kind == "elastic" else ("/tagged",))
        self.encoded = 0  # answers

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for client in (*self.clients.values(), self._asker):
            client.close()
        self.site.close()

    def _identity(self, resource):
        """(status, body, fields) of the resource as it is."""
        if resource not in self.identities:
            for _ in range(http1.ATTEMPTS):
                answer = self._asker.exchange([http1.Request("GET", resource)])[0]
                if answer.whole and answer.status < 500:
                    break
            assert answer.whole and not answer.coding, (resource, answer)
            self.identities[resource] = answer.status, answer.raw, answer.headers
        return self.identities[resource]

    def ask(self, plan, made, number, excuse=None):
        """Asks for one batch. `excuse(case, answer, wrong)` names the figure that counts a complaint
        which is no failure."""
        # Tags differ from server to server, and so do conditions that are made of them.
        protocol, batch = cases.batch(plan.seed, number, self.judge.seen)
        log = self.site.server.log
        log.unexpected()
        answers = self.clients[protocol].exchange([case.request for case in batch])
        for case, answer in zip(batch, answers, strict=True):
            self.encoded += bool(answer.coding)
            wrong = self.judge.complaint(case, answer)
            figure = excuse and wrong and excuse(case, answer, wrong)
            if figure:
                made.figures[figure] += 1
            elif wrong:
                logged = "".join(f" | {line[:300]}" for line in log.lines("error")[-3:])
                made.failures.append(
                    f"batch {number}, {self.site.kind}, {protocol}: {wrong}: {case} -> "
                    f"{answer.status} {answer.coding} {len(answer.raw)} bytes{logged}")
        made.count += 0 if self.site.kind == "stock" else len(batch)
