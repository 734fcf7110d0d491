"""The status page in Chromium: its width, and its pictures, light and dark."""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kit import bodies

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

# Where the pictures of the manual go; without it they are only taken.
PICTURES = os.environ.get("ELASTIC_PICTURES")

SIZES = {"desktop": (1000, 900), "phone": (390, 844)}
COLORS = {"light": 1, "dark": 0}  # Blink's numbers

# Loads the page in a frame of its own size, and says what is wider than there is room.
PROBE = r"""<!DOCTYPE html><html><body>
<iframe src="/elastic-status" width="WIDTH" height="800" style="border: 0"></iframe><script>
const frame = document.querySelector("iframe");
frame.onload = () => {
    const page = frame.contentDocument, root = page.documentElement;
    const isWide = e => e.scrollWidth > e.clientWidth + 1 || (!e.closest("section, details")
        && e.getBoundingClientRect().right > root.clientWidth + 1);
    const wide = [root, ...page.querySelectorAll("body *")].filter(isWide).map(e => e.tagName);
    const found = {wide, cells: page.querySelectorAll("td").length};
    document.body.textContent = "FOUND" + JSON.stringify(found) + "END";
};
</script></body></html>"""

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium-headless-shell")


@pytest.fixture(scope="module")
def site(httpd_shared):
    """A server that has something to say everywhere: figures, a drawn hour, and a warning."""
    server = httpd_shared(
        "Elastic On\nElasticPosition {root}/none\nElasticControl external\n",
        files={"index.html": bodies.text(50000), "app.js": bodies.text(120000),
               "photo.png": bodies.noise(30000), "news/today.html": bodies.text(30000),
               **{f"{name}.html": PROBE.replace("WIDTH", str(width))
                  for name, (width, _) in SIZES.items()}}, allow_log=["elastic: .*/none"])
    for number in range(48):
        for path, coding in (("/index.html", "br"), ("/app.js", "gzip"), ("/photo.png", "br"),
                             ("/news/today.html", None)):
            if number % 4 == 0 or path != "/app.js":
                server.get(path, ae=coding)
    server.wait_for(lambda: b"<polyline" in server.get("/elastic-status").body, 60, "a sample")
    return server


def browse(profile, color, *arguments):
    return subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--hide-scrollbars", f"--blink-settings=preferredColorScheme={COLORS[color]}",
         f"--user-data-dir={profile}", *arguments], capture_output=True, timeout=180, text=True)


@pytest.mark.parametrize("size", SIZES)
def test_all_of_the_page_can_be_read(site, tmp_path, size):
    texts = []

    def measured():
        done = browse(tmp_path / "profile", "light", "--dump-dom",
                      f"http://127.0.0.1:{site.port}/{size}.html")
        texts.extend(re.findall("(?s)<body>FOUND(.*?)END</body>", done.stdout))
        return texts

    site.wait_for(measured, 300, "the page in a frame")
    found = json.loads(html.unescape(texts[0]))
    assert found["cells"] > 50 and not found["wide"], found


@pytest.mark.parametrize("size,color", [("desktop", "light"), ("phone", "dark")])
def test_its_picture_is_taken(site, tmp_path, size, color):
    """ELASTIC_PICTURES names the folder of those that the manual has."""
    folder = Path(PICTURES) if PICTURES else tmp_path
    picture = folder / f"status-{size}.png"
    width, height = SIZES[size]
    browse(tmp_path / "profile", color, f"--window-size={width},{height}",
           f"--screenshot={picture}", f"http://127.0.0.1:{site.port}/elastic-status")
    data = picture.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and 5000 < len(data) <= 100 * 1024
    assert [int.from_bytes(data[at:at + 4], "big") for at in (16, 20)] == [width, height]
