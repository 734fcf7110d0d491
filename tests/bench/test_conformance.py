"""tests/conformance: this module keeps all that it asks; a server that breaks a rule is found."""

import gzip
import http.server
import importlib
import sys
import threading


from benchkit import corpus, run, tools

sys.path += [str(tools.ROOT / "tests"), str(tools.ROOT / "tests" / "httpd")]
compare = importlib.import_module("conformance.compare")
command = importlib.import_module("conformance.__main__")
checks = importlib.import_module("conformance.checks")

PAGE = corpus.text(20_000)


def test_this_module_keeps_all_of_it(module, tmp_path):
    with run.Run("conformance", out=tmp_path) as one:
        site = one.folder("site")
        compare.write_site(site)
        make, paths = compare.SERVERS["mod_elastic"]
        found = command.verdicts(checks.Target(make(one, site).url(""), **{
            "page": "/index.html", **paths}))
    broken = {check.name: why for check, (verdict, why) in found.items()
              if verdict == command.BROKEN}
    assert broken == {}
    asked = [check for check, (verdict, _) in found.items() if verdict == command.KEPT]
    assert len(asked) >= len(checks.CHECKS) - 5


class Wrong(http.server.BaseHTTPRequestHandler):
    """Answers gzip whatever is accepted, with one strong tag, no Vary, and a false length."""

    def do_GET(self):
        plain = self.headers.get("Accept-Encoding") == "identity"
        body = PAGE if plain else gzip.compress(PAGE)
        self.send_response(200)
        if not plain:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()

    def do_POST(self):
        """The query is what would be accepted."""
        self.send_response(415)
        self.send_header("Accept-Encoding", self.path.partition("?")[2])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_server_that_breaks_rules_is_found():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Wrong) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        found = command.verdicts(checks.Target(base, "/", upload="/?gzip"))
        refused = checks.requests(checks.Target(base, "/", upload="/?br"))
        server.shutdown()
    broken = {check.name for check, (verdict, _) in found.items() if verdict == command.BROKEN}
    assert {"negotiation/refused", "negotiation/empty", "negotiation/unknown", "vary/encoded",
            "vary/as-it-is", "tags/strong", "tags/revalidation", "tags/weakly", "tags/other-match",
            "head/fields", "head/length", "bodies/requests"} <= broken
    assert refused == ""
