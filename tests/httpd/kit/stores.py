"""Stores on other machines, each a process of its own on a loopback port.

    redis = Redis()                         # stop() ends it; Redis(redis.port) starts another there
    redis.ask("DBSIZE")                     # one command, its answer
    between = Between(redis.port)           # a proxy between it and httpd, which uses between.port
    between.hold()                          # no answer comes before between.release()
    between.change = lambda answer: b"..."  # replaces answers
"""

import socket
import threading

from .process import Backend, Listener, accepts, free_port, need

# httpd's log lines about a failing store: those of its providers, and the module's.
PROVIDERS = "AH03478|AH03479|AH03480|AH00790|AH00791|AH00792"
OWN = "elastic: ElasticCacheStore: "


class Redis(Backend):
    def __init__(self, port=None, address="127.0.0.1"):
        need("redis-server")
        self.port = port or free_port()
        super().__init__(
            ["redis-server", "--bind", address, "--port", str(self.port), "--save", "",
             "--appendonly", "no", "--protected-mode", "no"],
            lambda: accepts(socket.AF_INET, (address, self.port)))

    def kill(self):
        self._process.kill()
        self._process.wait()

    def ask(self, *words):
        """Returns a number, bytes, None, or a list of these."""
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as sock:
            sock.sendall(b"*%d\r\n" % len(words)
                         + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
            with sock.makefile("rb") as reader:
                return _answer(reader)

    def keys(self):
        """The names of its values' pieces, without those of trials."""
        return [key for key in self.ask("KEYS", "*") if not key.endswith(b"ffff")]

    def count(self):
        """The number of complete values: the first piece is stored last."""
        return sum(key.endswith(b"0000") for key in self.keys())


def _answer(reader):
    line = reader.readline().rstrip(b"\r\n")
    kind, rest = line[:1], line[1:]
    if kind == b"$":
        return None if rest == b"-1" else reader.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return [_answer(reader) for _ in range(int(rest))]
    assert kind in b"+:", line
    return int(rest) if kind == b":" else rest


class Memcached(Backend):
    def __init__(self):
        need("memcached")
        self.port = free_port()
        super().__init__(
            ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(self.port), "-U", "0"],
            lambda: accepts(socket.AF_INET, ("127.0.0.1", self.port)))

    def count(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as sock:
            sock.sendall(b"stats\r\n")
            with sock.makefile("rb") as reader:
                for line in reader:
                    if line.startswith(b"STAT curr_items "):
                        return int(line.split()[2])
        raise AssertionError("memcached does not say how many values it has")


class Between(Listener):
    """Forwards the traffic between httpd and the store on `port`; `asked` counts httpd's
    requests."""

    def __init__(self, port):
        self.change = None
        self.asked = 0
        self._store = port
        self._may_answer = threading.Event()
        self._may_answer.set()
        super().__init__(self._pass_on)

    def hold(self):
        self._may_answer.clear()

    def release(self):
        self._may_answer.set()

    def stop(self):
        self.release()
        super().stop()

    def _pass_on(self, sock):
        with socket.create_connection(("127.0.0.1", self._store)) as store:
            store.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._ask, args=(sock, store), daemon=True).start()
            while answer := store.recv(1 << 20):
                self._may_answer.wait()
                sock.sendall(self.change(answer) if self.change else answer)

    def _ask(self, sock, store):
        try:
            while asked := sock.recv(1 << 20):
                self.asked += 1
                store.sendall(asked)
            store.shutdown(socket.SHUT_WR)
        except OSError:
            pass
