"""Clients that send requests continuously, and their failures."""

import threading
import time


class Load:
    """Requests `path` in one coding after another, each time on a new connection, until stop().
    Responses other than `body`, whole and in its coding, are kept in `failed`."""

    def __init__(self, server, path, body, codings=("gzip",), clients=3):
        self.count = 0
        self.failed = []
        self._server, self._path, self._body, self._codings = server, path, body, codings
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self):
        while not self._end.is_set():
            coding = self._codings[self.count % len(self._codings)]
            try:
                answer = self._server.get(self._path, ae=coding, headers={"Connection": "close"})
                good = (answer.status, answer.coding, answer.body) == (200, coding, self._body)
            except Exception as error:  # noqa: BLE001 whatever it is, the client has no page
                answer, good = error, False
            self.count += 1
            if not good:
                self.failed.append(answer)
            time.sleep(0.01)

    def stop(self):
        self._end.set()
        for thread in self._threads:
            thread.join(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
