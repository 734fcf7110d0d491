"""A page in a real Chromium with an emulated rate and delay: the times of the request for the style
sheet in the head, of the first paint, and of the last byte."""

import importlib.util
import re

from benchkit import tools

DRIVER = tools.ROOT / "tests" / "httpd" / "kit" / "chromium.py"  # of the tests
LINKS = ((1.6, 150), (5, 40))  # Mbit/s; milliseconds of each request
HEAD = b'<!DOCTYPE html><html><head><title>t</title><link rel="stylesheet" href="style.css"></head>'
STYLE = b"body { color: #222 }\n"
FIGURES = """new Promise(done => {
    const all = () => {
        const painted = performance.getEntriesByName("first-paint")[0];
        const style = performance.getEntriesByType("resource")[0];
        const page = performance.getEntriesByType("navigation")[0];
        painted ? done([style.startTime, painted.startTime, page.responseEnd])
                : setTimeout(all, 20);
    };
    all();
})"""


def write(site, name, text):
    """Puts a page of the text, which links to one style sheet only, into a site."""
    plain = re.sub(rb"<(link|script|img)\b[^>]*>|(?:href|src)=\"[^\"]*\"", b"", text)
    (site / f"{name}.html").write_bytes(HEAD + plain[:len(text) - len(HEAD)])
    (site / "style.css").write_bytes(STYLE)


def loads(run, servers, path, rounds):
    """A row for each link, round and server."""
    spec = importlib.util.spec_from_file_location("chromium", DRIVER)
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    if not driver.CHROMIUM:
        raise tools.BenchError("chromium-headless-shell is missing")
    rows = []
    with driver.Chromium(run.folder("chromium")) as browser:
        for (rate, delay), number in ((link, place) for link in LINKS for place in range(rounds)):
            for name, one in servers.items():
                page = browser.page()
                page.call("Network.enable")
                page.call("Network.emulateNetworkConditions", offline=False, latency=delay,
                          downloadThroughput=rate * 1e6 / 8, uploadThroughput=rate * 1e6 / 8)
                page.open(one.url(path))
                style, painted, last = page.run(FIGURES)
                rows.append({"link": f"{rate} Mbit/s, {delay} ms", "server": name, "round": number,
                             "style_ms": style, "painted_ms": painted, "last_ms": last})
            run.progress("Chromium")
    return rows
