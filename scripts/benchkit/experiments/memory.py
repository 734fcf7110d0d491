"""The memory of a server whose bodies are all in flight at once: clients stop before the end, so
that the result does not depend on the machine's speed."""

import contextlib
import pathlib
import socket

from benchkit import codecs, corpus, plot, rounds, sample, tools, web
from benchkit.findings import Finding, exact
from benchkit.results import Outcome
from benchkit.setups import CGI, NOTHING, Setup, mod_brotli, mod_deflate, ours
from benchkit.stats import ratio

TITLE = "memory of responses and of request bodies on their way, beside the stock modules"
SOURCE = THERE = ""
SETUP = ("One process of httpd and 32 clients that stop before the end of their bodies: pages of 1 "
         "MB, which this module encodes whole, and of 4 MB, which it streams; request bodies of 16 "
         "MB of text to a script. Anonymous memory of the process, beyond that of the same without "
         "compression.")
SECONDS = 20, 30, 60

KB = corpus.KB
PATIENCE = 120  # seconds for a server that encodes a body for each client
# The rest of an encoded body when its client stops: more than httpd (64 KB) and both sockets (twice
# their setting) hold, so that the encoder has not ended.
LEFT = 384 * KB
SOCKET = 64 * KB
SOCKETS = f"SendBufferSize {SOCKET}\nReceiveBufferSize {SOCKET}\nTimeout 600\n"
SPARE_THREADS = 8  # if all threads are busy, httpd closes waiting connections
KEPT_BACK = 64  # bytes at the end of an upload that are not sent

PAGES = {"1 MB, whole": 1024 * KB, "4 MB, streamed": 4096 * KB}
SETUPS = {"no compression": NOTHING, "mod_deflate 6": mod_deflate(6), "gzip 6": ours("gzip", 6),
          "mod_brotli 5": mod_brotli(5), "br 5": ours("br", 5), "zstd 3": ours("zstd", 3)}
# Request bodies: {name: (setup, coding, log2 of the window)}.
INFLATE = "ElasticInflate On\n"
UPLOADS = {
    "not decoded": (NOTHING, "gzip", 15),
    "gzip, mod_deflate": (Setup("SetInputFilter DEFLATE\n", ("filter", "deflate")), "gzip", 15),
    "gzip": (Setup(INFLATE), "gzip", 15),
    "br, a window of 16 MB": (Setup(INFLATE), "br", 24),
    "br, of 16 MB, ElasticMaxMemory 64M": (Setup(INFLATE + "ElasticMaxMemory 64M\n"), "br", 24),
    "zstd, of 8 MB": (Setup(INFLATE), "zstd", 23)}
COUNT = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\nexec wc -c\n"


def connect(httpd, request):
    """A connection with small buffers, on which `request` was sent."""
    connection = socket.socket()
    connection.settimeout(PATIENCE)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        connection.setsockopt(socket.SOL_SOCKET, option, SOCKET)
    connection.connect((httpd.address, httpd.port))
    with contextlib.suppress(ConnectionError):  # the server may refuse the body
        connection.sendall(request)
    return contextlib.closing(connection)


def held_kb(httpd, request, clients, wanted=0):
    """KB with so many connections that sent the request and read `wanted` bytes; ends the
    server."""
    with contextlib.ExitStack() as stack:
        for connection in [stack.enter_context(connect(httpd, request)) for _ in range(clients)]:
            left = wanted
            while left > 0:
                piece = connection.recv(min(left, 65536))
                if not piece:
                    raise tools.BenchError("a response ended before its client stopped")
                left -= len(piece)
        sample.wait_until_idle(httpd.pids)
        found = sum(sample.parse_kb(pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(),
                                    "Anonymous") for pid in httpd.child_pids())
    httpd.stop()
    return found


def responses(run, setup, page, clients):
    """KB while `clients` have each read all but the end of the page."""
    httpd = setup.serve(run, run.new_name("server"), SOCKETS, children=1,
                        threads=clients + SPARE_THREADS)
    (httpd.site / "page.html").write_bytes(page)
    httpd.start()
    encoded = rounds.check(setup.leg({"server": "httpd"}, httpd, "/page.html", page))
    request = f"GET /page.html HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {setup.accept}\r\n\r\n"
    return held_kb(httpd, request.encode(), clients, max(0, encoded - LEFT))


def uploads(run, name, body, clients):
    """KB while `clients` have sent all but the end of a body, which a script behind the decoder
    counts."""
    setup, coding, window = UPLOADS[name]
    encoded = codecs.encode(body, coding, window)
    httpd = setup.serve(run, run.new_name("server"), SOCKETS + CGI, ("cgid",), children=1,
                        threads=clients + SPARE_THREADS)
    web.write_script(httpd.site / "count.cgi", COUNT)
    httpd.start()
    with contextlib.closing(httpd.connect()) as connection:
        connection.timeout = PATIENCE
        connection.request("POST", "/count.cgi", encoded, {"Content-Encoding": coding})
        counted = int(connection.getresponse().read())
    if counted != len(encoded if setup is NOTHING else body):
        raise tools.BenchError(f"{name}: a script was given {counted} bytes of {len(body)}")
    request = (f"POST /count.cgi HTTP/1.1\r\nHost: a\r\nContent-Encoding: {coding}\r\n"
               f"Content-Length: {len(encoded)}\r\n\r\n").encode() + encoded[:-KEPT_BACK]
    return held_kb(httpd, request, clients)


def beyond(found, clients):
    base = next(iter(found.values()))
    return {name: round((kb - base) / clients) for name, kb in found.items()}


def find(tables):
    sent = {kind: {row["response"]: row[kind] for row in tables[""]} for kind in PAGES}
    received = {row["request body"]: row["kb"] for row in tables["uploads"]}

    def compare(key, what, kind, one, other):
        return Finding(key, f"KB of a response of {what}, {one}'s to {other}'s",
                       exact(ratio(sent[kind][one], sent[kind][other])))

    whole, streamed = PAGES
    return [compare("gzip", "4 MB", streamed, "gzip 6", "mod_deflate 6"),
            compare("br", "4 MB", streamed, "br 5", "mod_brotli 5"),
            compare("gzip-whole", "1 MB", whole, "gzip 6", "mod_deflate 6"),
            compare("br-whole", "1 MB", whole, "br 5", "mod_brotli 5"),
            *(Finding(f"upload {name}", f"KB of a request body: {name}", exact(kb))
              for name, kb in received.items())]


def save(run, sent, received):
    run.save_table("", [{"response": name, **{kind: of[name] for kind, of in sent.items()}}
                        for name in SETUPS], "KB of a response on its way")
    run.save_table("uploads", [{"request body": name, "kb": kb} for name, kb in received.items()],
                   "KB of a request body on its way")
    names = [name for name in SETUPS if name != "no compression"]
    with plot.figure(run, "", "memory of a response on its way", width=6.4) as (axes,):
        plot.grouped_bars(axes, names, {
            kind: (colour, [exact(of[name]) for name in names])
            for (kind, of), colour in zip(sent.items(), (plot.GZIP, plot.KEPT))})
        axes.set(ylabel="KB")
        axes.legend()


def run(run):
    clients, part = run.pick(2, 16, 32), run.pick(16, 4, 1)
    sent = {}
    for kind, size in PAGES.items():
        page, origin = corpus.document(size, run)
        run.add_corpus(f"page, {kind}", [page], origin)
        sent[kind] = beyond({name: responses(run, setup, page, clients)
                             for name, setup in SETUPS.items()}, clients)
    body = corpus.invented_html(16384 * KB // part)
    run.add_corpus("request body", [body], "invented text")
    received = beyond({name: uploads(run, name, body, clients) for name in UPLOADS}, clients)
    run.rounds = 1
    save(run, sent, received)
    return Outcome("gzip", "A streamed response takes {here} of the memory "
                   "that mod_deflate takes at the same level.", f"{clients} clients.")
