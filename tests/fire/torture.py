"""Each allocation and each call of a compression library fails once, in any order: the client gets
the body, encoded or as it is, an error, or an end that shows; and the next client gets all of it.

Under prefork each request has a child of its own, which has kept nothing; under the others the
child keeps what it used for the one before.
"""

import gzip
import random
import time

import brotli
import zstandard

from kit import Server, bodies, decode, env
from kit.config import at

from . import http1
from .site import failing

TEXT = bodies.text(40000)
LARGE = bodies.text(300000)
NEVER = 1 << 40

_MPM = {
    # Each connection is a child's last.
    "prefork": "StartServers 4\nMinSpareServers 4\nMaxSpareServers 8\nMaxRequestWorkers 32\n"
               "MaxConnectionsPerChild 1\n",
    "threads": "StartServers 1\nServerLimit 1\nThreadsPerChild 4\nMaxRequestWorkers 4\n"
               "MinSpareThreads 1\nMaxSpareThreads 4\n",
}

_ENGINES = (("gzip", 1), ("gzip", 6), ("br", 0), ("br", 5)) \
    + (("gzip", 12),) * env.HAS_LIBDEFLATE + (("zstd", 5),) * env.HAS_ZSTD

# {place: directives}, each a way to encode or to decode.
PLACES = {
    **{f"{coding}-{level}-{name}": ("Elastic On", f"ElasticLevel {coding} {level}",
                                    f"ElasticWholeBody {whole}")
       for coding, level in _ENGINES for name, whole in (("whole", "1M"), ("stream", "0"))},
    "deflate": ("SetOutputFilter DEFLATE",),
    "brotli": ("SetOutputFilter BROTLI_COMPRESS",),
    "inflate": ("SetOutputFilter INFLATE",),
    "again": ("SetOutputFilter INFLATE;DEFLATE",),
    "siblings": ("Elastic On", "ElasticPrecompressed On"),
    "in": ("ElasticInflate On", "SetHandler reflector"),
    "stock-in": ("SetInputFilter DEFLATE", "SetHandler reflector"),
}


def _requests():
    """(name, request, the body that is meant)."""
    for place, path, coding, body in (
            *((place, "large.txt" if place.endswith("stream") else "a.txt", place.split("-")[0],
               LARGE if place.endswith("stream") else TEXT)
              for place in PLACES if place.endswith(("stream", "whole"))),
            ("deflate", "large.txt", "gzip", LARGE), ("brotli", "large.txt", "br", LARGE),
            ("inflate", "large.txt.gz", "identity", LARGE),
            ("inflate", "large.txt.br", "identity", LARGE),
            ("again", "large.txt.br", "gzip", LARGE), ("siblings", "large.txt", "br", LARGE)):
        yield f"{place}, {path}", http1.Request("GET", f"/{place}/{path}", (
            ("Accept-Encoding", coding),)), body
    for place in ("in", "stock-in"):
        for coding, body in (("gzip", gzip.compress(TEXT)), ("br", brotli.compress(TEXT)),
                             ("br, gzip", gzip.compress(brotli.compress(TEXT))),
                             *((("zstd", zstandard.compress(TEXT)),) * env.HAS_ZSTD)):
            yield f"{place}, {coding}", http1.Request("POST", f"/{place}", (
                ("Content-Encoding", coding),), body), TEXT


def _wrong(answer, body, failed):
    """What is wrong with it, as a sentence; None where nothing is."""
    if not answer.whole:
        return None if failed else f"it broke off: {answer.why}"
    if answer.status != 200:
        return None if failed and answer.status >= 400 else f"the status {answer.status}"
    try:
        decoded = decode.decode(answer.coding or None, answer.raw)
    except decode.DecodeError as error:
        return f"damaged: {error}"
    return None if decoded == body else "another body"


def run(plan, made):
    with failing("memory", "calls") as (memory, options):
        config = "ElasticControl off\nAddEncoding x-gzip .gz\nAddEncoding br .br\n" \
            + "".join(at(name, *lines) for name, lines in PLACES.items())
        server = Server(config, modules=("reflector", "filter"),
                        records=("elastic", "deflate", "brotli"),
                        mpm_config=_MPM["prefork" if env.MPM == "prefork" else "threads"],
                        files={"a.txt": TEXT, "large.txt": LARGE,
                               "large.txt.gz": gzip.compress(LARGE),
                               "large.txt.br": brotli.compress(LARGE)}, **options)
        try:
            server.start()
            _torture(plan, made, memory, http1.Client(("127.0.0.1", server.port)))
            made.failures += server.log.lines("exit signal")
        finally:
            server.stop()
            server.remove()


def _torture(plan, made, memory, client):
    began = time.monotonic()

    def ask(request, at=0):
        """(the answer, how many failed, how many were left) where number `at` fails."""
        memory.fail(at)
        answer = client.exchange([request])[0]
        client.close()
        failed, left = memory.failures(), memory.left()
        memory.fail(0)
        return answer, failed, left

    todo = []
    for name, request, body in _requests():
        # How many there are to fail is the most of three requests.
        number = max(NEVER - ask(request, NEVER)[2] for _ in range(3))
        todo += [(name, request, body, at) for at in range(1, number + 1)]
    random.Random(plan.seed).shuffle(todo)
    for name, request, body, at in todo:
        if time.monotonic() - began > plan.seconds:
            made.figures["left out"] += 1
            continue
        answer, failed, _ = ask(request, at)
        made.count += failed
        made.figures["broken off"] += not answer.whole
        made.figures["errors"] += answer.whole and answer.status >= 400
        made.figures["as they are"] += answer.status == 200 and not answer.coding
        for when, wrong in (("at", _wrong(answer, body, failed)),
                            ("after", _wrong(ask(request)[0], body, False))):
            if wrong:
                made.failures.append(f"{name}, {when} number {at}: {wrong}")
