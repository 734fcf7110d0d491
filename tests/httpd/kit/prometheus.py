"""Prometheus beside httpd, from Debian's package, and promtool.

    server = Prometheus(httpd.port, "/elastic-metrics", rules=path)    # stop() ends it
    server.query("elastic_up")         # [(labels, value)]
    promtool("check", "metrics", text=b"...")                          # (whether it passed, output)
"""

import json
import shutil
import socket
import subprocess
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from . import env
from .process import Backend, accepts, free_port


def program(name):
    """Skips the test where the package is not here."""
    path = env.DEBIAN / "usr/bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not there (package prometheus, or promtool)")
    return str(path)


def promtool(*arguments, text=None):
    done = subprocess.run([program("promtool"), *map(str, arguments)], input=text, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout.decode()


class Prometheus(Backend):
    def __init__(self, target, path, rules):
        self.port = free_port()
        self._root = Path(tempfile.mkdtemp(prefix="elastic-prometheus-"))
        config = self._root / "prometheus.yml"
        # JSON is YAML.
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [{
                "job_name": "httpd", "metrics_path": path,
                "static_configs": [{"targets": [f"127.0.0.1:{target}"]}],
            }],
        }))
        try:
            super().__init__(
                [program("prometheus"), f"--config.file={config}",
                 f"--storage.tsdb.path={self._root}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}"],
                lambda: accepts(socket.AF_INET, ("127.0.0.1", self.port)) and self._is_ready())
        except BaseException:
            shutil.rmtree(self._root, ignore_errors=True)
            raise

    def stop(self):
        super().stop()
        shutil.rmtree(self._root, ignore_errors=True)

    def _is_ready(self):
        try:
            return self._get("/-/ready") is not None
        except OSError:
            return False

    def _get(self, path):
        url = f"http://127.0.0.1:{self.port}{path}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()

    def query(self, expression):
        answer = json.loads(self._get("/api/v1/query?query=" + urllib.parse.quote(expression)))
        assert answer["status"] == "success", answer
        return [(row["metric"], float(row["value"][1])) for row in answer["data"]["result"]]

    def rules(self):
        """{alert: its health}."""
        groups = json.loads(self._get("/api/v1/rules"))["data"]["groups"]
        return {rule["name"]: rule["health"] for group in groups for rule in group["rules"]}
