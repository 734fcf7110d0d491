"""Each allocation and each call of a compression library fails once, in turn: the client gets the
body, encoded or as it is, an error, or an end that shows; and the next client gets all of it.

Under prefork each request has a child of its own, which has kept nothing; under the others the
child keeps what it used for the one before.
"""

import gzip
import time
import zlib

import brotli
import zstandard

from kit import Server, bodies, decode, env
from kit.config import at

from . import http1, outcome
from .failing import failing

TEXT = bodies.text(40000)
LARGE = bodies.text(300000)
NEVER = 1 << 40

# So many clean requests between two that fail must be right: all of them in the long form.
EVERY = 4

_MPM = {
    # Each connection is a child's last.
    "prefork": "StartServers 4\nMinSpareServers 4\nMaxSpareServers 8\nMaxRequestWorkers 32\n"
               "MaxConnectionsPerChild 1\n",
    "threads": "StartServers 1\nServerLimit 1\nThreadsPerChild 4\nMaxRequestWorkers 4\n"
               "MinSpareThreads 1\nMaxSpareThreads 4\n",
}

_ENGINES = (("gzip", 1), ("gzip", 6), ("br", 0), ("br", 5)) \
    + (("gzip", 12),) * env.HAS_LIBDEFLATE + (("zstd", 5),) * env.HAS_ZSTD


def _places():
    """{name: lines}, each a way to encode."""
    places = {}
    for coding, level in _ENGINES:
        for whole in ("1M", "0"):
            places[f"{coding}-{level}-{'whole' if whole != '0' else 'stream'}"] = (
                "Elastic On", f"ElasticLevel {coding} {level}", f"ElasticWholeBody {whole}")
    return places


def _config():
    return "ElasticControl off\nAddEncoding x-gzip .gz\nAddEncoding br .br\n" \
        + "".join(at(name, *lines) for name, lines in _places().items()) \
        + at("deflate", "SetOutputFilter DEFLATE") \
        + at("brotli", "SetOutputFilter BROTLI_COMPRESS") \
        + at("inflate", "SetOutputFilter INFLATE") \
        + at("again", "SetOutputFilter INFLATE;DEFLATE") \
        + at("siblings", "Elastic On", "ElasticPrecompressed On") \
        + "<Location /in>\nElasticInflate On\nSetHandler reflector\n</Location>\n" \
        + "<Location /stock-in>\nSetInputFilter DEFLATE\nSetHandler reflector\n</Location>\n"


def _requests():
    """{name: (request, the body that is meant)}."""
    found = {}

    def get(name, path, coding, body):
        found[name] = http1.Request("GET", path, (("Accept-Encoding", coding),)), body

    for name in _places():
        body = "large.txt" if name.endswith("stream") else "a.txt"
        get(name, f"/{name}/{body}", name.split("-")[0], LARGE if body == "large.txt" else TEXT)
    get("filter DEFLATE", "/deflate/large.txt", "gzip", LARGE)
    get("filter BROTLI_COMPRESS", "/brotli/large.txt", "br", LARGE)
    get("filter INFLATE, gzip", "/inflate/b.txt.gz", "identity", LARGE)
    get("filter INFLATE, br", "/inflate/b.txt.br", "identity", LARGE)
    get("filters INFLATE;DEFLATE", "/again/b.txt.br", "gzip", LARGE)
    get("siblings", "/siblings/b.txt", "br", LARGE)
    for way in ("in", "stock-in"):
        for coding, body in (("gzip", gzip.compress(TEXT)), ("br", brotli.compress(TEXT)),
                             ("br, gzip", gzip.compress(brotli.compress(TEXT))),
                             *((("zstd", zstandard.compress(TEXT)),) * env.HAS_ZSTD)):
            found[f"{way}, {coding}"] = http1.Request(
                "POST", f"/{way}", (("Content-Encoding", coding),), body), TEXT
    return found


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


class Torturer:
    def __init__(self, server, memory):
        self._memory = memory
        self._client = http1.Client(("127.0.0.1", server.port))

    def ask(self, request, at):
        """(the answer, how many failed, how many were left) where number `at` fails."""
        self._memory.fail(at)
        answer = self._client.exchange([request])[0]
        self._client.close()
        failed, left = self._memory.failures(), self._memory.left()
        self._memory.fail(0)
        return answer, failed, left

    def count(self, request):
        """How many there are to fail: the most of three requests."""
        return max(NEVER - self.ask(request, NEVER)[2] for _ in range(3))


def run(plan):
    made = outcome.Outcome()
    with failing("memory", "calls") as (memory, options):
        mpm = _MPM["prefork" if env.MPM == "prefork" else "threads"]
        server = Server(_config(), modules=("reflector", "filter"),
                        records=("elastic", "deflate", "brotli"), mpm_config=mpm,
                        files={"a.txt": TEXT, "large.txt": LARGE, "b.txt": LARGE,
                               "b.txt.gz": gzip.compress(LARGE),
                               "b.txt.br": brotli.compress(LARGE)},
                        **options)
        try:
            server.start()
            _torture(plan, made, Torturer(server, memory))
            made.failures += [str(line) for line in server.log.lines("exit signal")]
        finally:
            server.stop()
            server.remove()
    return made


def _torture(plan, made, torturer):
    """`plan.count` bounds how many are failed of each request, evenly spread."""
    began = time.monotonic()
    for name, (request, body) in _requests().items():
        number = torturer.count(request)
        step = max(1, -(-number // plan.count))
        made.figures["to fail"] += number
        for at in range(1 + zlib.crc32(plan.seed.encode()) % step, number + 1, step):
            if time.monotonic() - began > plan.seconds:
                made.figures["left out"] += 1
                break
            answer, failed, _ = torturer.ask(request, at)
            wrong = _wrong(answer, body, failed)
            made.count += failed
            made.figures["broken off"] += not answer.whole
            made.figures["errors"] += answer.whole and answer.status >= 400
            made.figures["as they are"] += answer.status == 200 and not answer.coding
            if wrong:
                made.failures.append(f"{name}, number {at}: {wrong}")
            if at % EVERY == 0 or step == 1:
                wrong = _wrong(torturer.ask(request, 0)[0], body, False)
                if wrong:
                    made.failures.append(f"{name}, after number {at}: {wrong}")
    made.seconds = time.monotonic() - began
