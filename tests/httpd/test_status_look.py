"""The status page in Chromium: its width, the keyboard, printing, and its pictures, light and
dark."""

import html
import itertools
import json
import os
import re
import subprocess
import zlib
from pathlib import Path

import pytest

from kit import bodies, hour, keep
from kit.chromium import CHROMIUM, OPTIONS

# The folder for the manual's pictures; without it they are taken but not stored.
PICTURES = os.environ.get("ELASTIC_PICTURES")

SIZES = {"desktop": (800, 1197), "phone": (390, 1240)}
COLORS = {"light": 1, "dark": 0}  # Blink's numbers

# Loads the page in a frame of its own size, opens closed parts, and reports elements that are too
# wide, and those that do not show the focus.
PROBE = r"""<!DOCTYPE html><html><body>
<iframe src="/elastic-statusQUERY" width="WIDTH" height="800" style="border: 0"></iframe><script>
const frame = document.querySelector("iframe");
frame.onload = () => {
    const page = frame.contentDocument, root = page.documentElement;
    const isWide = e => e.getBoundingClientRect().right > root.clientWidth + 1
        || e.scrollWidth > e.clientWidth + 1 && e instanceof frame.contentWindow.HTMLElement;
    const isShown = e => {
        e.focus();
        const style = frame.contentWindow.getComputedStyle(e);
        return page.activeElement === e && style.outlineStyle === "solid"
            && parseFloat(style.outlineWidth) >= 2;
    };
    page.querySelectorAll("details").forEach(e => { e.open = true; });
    const all = [root, ...page.querySelectorAll("body *")];
    const stops = all.filter(e => e.tabIndex >= 0);
    const found = {
        wide: all.filter(isWide).map(e => e.outerHTML.slice(0, 80)),
        stops: stops.map(e => e.localName),
        unseen: stops.filter(e => !isShown(e)).map(e => e.outerHTML.slice(0, 80)),
        cells: page.querySelectorAll("td").length,
    };
    document.body.textContent = "FOUND" + JSON.stringify(found) + "END";
};
</script></body></html>"""

pytestmark = [pytest.mark.package("chromium-headless-shell"),
              pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium-headless-shell")]


def visit(server, load):
    """More of them make a higher load."""
    for number in range(1 + load // 16):
        server.write(f"{number}.js", bodies.text(120000) + b"%d" % number)
        for path, coding in (("/index.html", "gzip"), (f"/{number}.js", "br"),
                             ("/photo.png", "br"), ("/news/today.html", None)):
            server.get(path, ae=coding)


@pytest.fixture(scope="module")
def site(httpd_shared, tmp_path_factory):
    """A server with something in every section: a whole hour, a cache, and a warning."""
    return hour.start(
        httpd_shared, tmp_path_factory.mktemp("hour"), "ElasticCache On\n", visit,
        modules=keep.SHMCB,
        files={"index.html": bodies.text(50000), "photo.png": bodies.noise(30000),
               "news/today.html": bodies.text(30000),
               **{f"{name}{query}.html": PROBE.replace("WIDTH", str(width)).replace(
                   "QUERY", query and f"?{query}")
                  for name, (width, _) in SIZES.items() for query in ("", "manual")}})


def browse(site, profile, color, path, *arguments):
    return subprocess.run(
        [CHROMIUM, *OPTIONS, "--hide-scrollbars",
         f"--blink-settings=preferredColorScheme={COLORS[color]}",
         f"--user-data-dir={profile}", *arguments, f"http://127.0.0.1:{site.port}{path}"],
        capture_output=True, timeout=180, text=True)


@pytest.mark.parametrize("query", ["", "manual"])
@pytest.mark.parametrize("size", SIZES)
def test_all_of_it_can_be_read_and_reached(site, tmp_path, size, query):
    """In the order in which it is read: the values, the reasons, the tables, the other forms. The
    reasons' page can be left."""
    texts = []

    def measured():
        done = browse(site, tmp_path / "profile", "light", f"/{size}{query}.html", "--dump-dom")
        texts.extend(re.findall("(?s)<body>FOUND(.*?)END</body>", done.stdout))
        return texts

    site.wait_for(measured, 300, "the page in a frame")
    found = json.loads(html.unescape(texts[0]))
    assert not found["wide"] and not found["unseen"], found
    if query:
        assert found["stops"] == ["a"], found
    else:
        assert [name for name, _ in itertools.groupby(found["stops"])] == ["summary", "a"] * 2
        assert found["stops"][-5:] == ["summary"] * 2 + ["a"] * 3 and found["cells"] > 150, found


def test_it_prints_black_on_white(site, tmp_path):
    """Also for users of dark pages: checks the colors of all letters, lines and bars of the PDF."""
    paper = tmp_path / "page.pdf"
    browse(site, tmp_path / "profile", "dark", "/elastic-status", "--no-pdf-header-footer",
           f"--print-to-pdf={paper}")
    drawn = b"".join(zlib.decompress(data) for data in re.findall(
        rb"(?s)/Filter /FlateDecode[^>]*>>\s*stream\r?\n(.*?)endstream", paper.read_bytes()))
    colors = set(re.findall(rb"([0-9.]+ [0-9.]+ [0-9.]+) (?:rg|RG)\b", drawn))
    assert b"0 0 0" in colors
    assert all(len(set(color.split())) == 1 for color in colors), colors


@pytest.mark.parametrize("size,color", [("desktop", "light"), ("phone", "dark")])
def test_its_picture_is_taken(site, tmp_path, size, color):
    """ELASTIC_PICTURES names the folder for the manual's pictures."""
    folder = Path(PICTURES) if PICTURES else tmp_path
    picture = folder / f"status-{size}.png"
    width, height = SIZES[size]
    browse(site, tmp_path / "profile", color, "/elastic-status",
           f"--window-size={width},{height}", f"--screenshot={picture}")
    data = picture.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and 5000 < len(data) <= 100 * 1024
    assert [int.from_bytes(data[at:at + 4], "big") for at in (16, 20)] == [width, height]
