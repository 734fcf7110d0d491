"""The codings of bodies: an encoder for each, its range of levels, and what a client likes best."""

import dataclasses
import importlib
import zlib


class Gzip:
    """An encoder of one body. add() may hold back what flush() and finish() then give."""

    def __init__(self, level):
        # 16 more than the window: gzip's frame.
        self.stream = zlib.compressobj(level, zlib.DEFLATED, 31)

    def add(self, data):
        return self.stream.compress(data)

    def flush(self):
        return self.stream.flush(zlib.Z_SYNC_FLUSH)

    def finish(self):
        return self.stream.flush()


class Brotli:
    def __init__(self, level):
        self.stream = importlib.import_module("brotli").Compressor(quality=level)

    def add(self, data):
        return self.stream.process(data)

    def flush(self):
        return self.stream.flush()

    def finish(self):
        return self.stream.finish()


class Zstd:
    """A decoder gives nothing of a block before its end. So blocks grow from 5 KB on, and a browser
    has the head of a page with the first packets. A body that begins with no more than SMALL is
    flushed by who has more of it."""

    FIRST, GROWTH, MOST, SMALL = 5 << 10, 3, 64 << 10, 16 << 10

    def __init__(self, level):
        self.library = importlib.import_module("zstandard")
        self.stream = self.library.ZstdCompressor(level).compressobj()
        self.block = self.left = 0

    def add(self, data):
        encoded = []
        if self.block == 0:
            self.block = self.left = len(data) if len(data) <= self.SMALL else self.FIRST
        while self.left < len(data):
            encoded += [self.stream.compress(data[:self.left]), self.flush()]
            data = data[self.left:]
            self.block = self.left = min(max(self.block * self.GROWTH, self.FIRST), self.MOST)
        self.left -= len(data)
        return b"".join((*encoded, self.stream.compress(data)))

    def flush(self):
        return self.stream.flush(self.library.COMPRESSOBJ_FLUSH_BLOCK)

    def finish(self):
        return self.stream.flush()


@dataclasses.dataclass(frozen=True)
class Coding:
    encoder: type
    levels: range
    default: int  # without a position
    package: str = "zlib"


# zstd from level 20 on needs more memory than browsers have for a body (RFC 9659).
CODINGS = {
    "gzip": Coding(Gzip, range(1, 10), 6),
    "br": Coding(Brotli, range(0, 12), 5, "brotli"),
    "zstd": Coding(Zstd, range(1, 20), 3, "zstandard"),
}

DEFAULT = {"gzip": (1, 9)}


class Codings:
    """What the bodies of an application are encoded with, and how.

    `levels` is {coding: (floor, ceiling)}, the server's favourite first. ValueError for a coding
    or a level that does not exist, ImportError where the coding's package is not installed.
    """

    def __init__(self, levels, follower):
        self.setups = {}
        self.follower = follower
        for name, (floor, ceiling) in (levels or DEFAULT).items():
            coding = CODINGS.get(name)
            if coding is None:
                raise ValueError(f"{name}: the codings are {', '.join(CODINGS)}")
            if not coding.levels.start <= floor <= ceiling < coding.levels.stop:
                raise ValueError(f"{name} {floor} {ceiling}: the levels are "
                                 f"{coding.levels.start} to {coding.levels.stop - 1}")
            importlib.import_module(coding.package)
            self.setups[name] = range(floor, ceiling + 1)

    def accepted(self, accept_encoding):
        """RFC 9110 §12.5.3: the coding that the client likes best, by name or by `*`; None of
        none. Of several that it likes equally, the server's favourite."""
        weights = parse_weights(accept_encoding)
        wanted = {name: weights.get(name, weights.get("*", 0.0)) for name in self.setups}
        best = max(wanted, key=wanted.get)
        return best if wanted[best] > 0 else None

    def begin(self, name):
        """An encoder at the level of this request; None where nothing is to be compressed."""
        coding, setups = CODINGS[name], self.setups[name]
        level = self.follower.setup(setups, min(max(coding.default, setups[0]), setups[-1]))
        return None if level is None else coding.encoder(level)


def parse_weights(accept_encoding):
    """{coding: weight} of an Accept-Encoding; a weight that is no number counts as 0."""
    weights = {}
    for item in (accept_encoding or "").split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        weight = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip() == "q":
                try:
                    weight = float(value)
                except ValueError:
                    weight = 0.0
        weights["gzip" if name == "x-gzip" else name] = weight
    return weights
