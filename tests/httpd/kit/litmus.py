"""litmus, a test suite for WebDAV servers."""

import re
import subprocess

from .process import need


def passes(server, folder, directory):
    """All of its tests pass, as with mod_dav alone, in a new folder of the server below `folder`;
    runs in a directory for its logs."""
    need("litmus")
    server.expect_log("XML parser error|XML Parser Error")  # caused by some of its tests
    (server.docs / folder / "litmus").mkdir(mode=0o777)
    (server.docs / folder / "litmus").chmod(0o777)
    run = subprocess.run(["litmus", "-k", f"http://127.0.0.1:{server.port}/{folder}/"],
                         cwd=directory, capture_output=True, text=True, timeout=100)
    counts = [tuple(map(int, found)) for found in re.findall(
        r"of (\d+) tests run: (\d+) passed, (\d+) failed", run.stdout)]
    assert all(passed == count and failed == 0 for count, passed, failed in counts), run.stdout
    assert sum(count for count, _, _ in counts) >= 104, run.stdout
