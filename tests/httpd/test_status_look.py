"""The status page in Chromium: its width, its contrasts, dark and light, and its pictures."""

import html
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from kit import bodies
from kit.browser import CHROMIUM

# Where the pictures of the manual go; without it they are only taken.
PICTURES = os.environ.get("ELASTIC_PICTURES")

SIZES = {"desktop": (1000, 900), "phone": (390, 844)}
COLORS = {"light": 1, "dark": 0}  # Blink's numbers

# Loads the page in a frame of its own size, and measures it when it is there: texts whose contrast
# is below that of WCAG 2.1 (1.4.3), and what is wider than there is room.
PROBE = r"""<!DOCTYPE html><html><body>
<iframe src="/elastic-status" width="WIDTH" height="800" style="border: 0"></iframe><script>
function luminance(color) {
    const [r, g, b] = color.map(c => c / 255).map(
        c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(a, b) {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
}
function measure(page, view) {
    const color = (element, name) =>
        view.getComputedStyle(element)[name].match(/[\d.]+/g).map(Number);
    const canvas = page.body.appendChild(page.createElement("i"));
    canvas.style.background = "Canvas";
    const plain = color(canvas, "backgroundColor");
    canvas.remove();
    const isSolid = color => color.length === 3 || color[3] === 1;
    const behind = element => !element ? plain :
        isSolid(color(element, "backgroundColor")) ? color(element, "backgroundColor") :
        behind(element.parentElement);
    const texts = [...page.body.querySelectorAll(":not(script)")].filter(
        e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()));
    const root = page.documentElement, name = e => e.tagName + " " + e.textContent.slice(0, 40);
    return {texts: texts.length, dark: luminance(plain) < 0.5,
            pale: texts.filter(e => !isSolid(color(e, "color")) || contrast(
                color(e, "color").slice(0, 3), behind(e).slice(0, 3)) < 4.5).map(name),
            wide: [...page.querySelectorAll("body *")].filter(
                e => e.getBoundingClientRect().right > root.clientWidth + 1
                     && !e.closest("section, details")).map(name),
            scrolls: [root, ...page.querySelectorAll("section")].filter(
                e => e.scrollWidth > e.clientWidth + 1).map(name)};
}
const frame = document.querySelector("iframe");
frame.onload = () => {
    const found = measure(frame.contentDocument, frame.contentWindow);
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


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("size", SIZES)
def test_all_of_the_page_can_be_read(site, tmp_path, size, color):
    texts = []

    def measured():
        done = browse(tmp_path / "profile", color, "--dump-dom",
                      f"http://127.0.0.1:{site.port}/{size}.html")
        texts.extend(re.findall("(?s)<body>FOUND(.*?)END</body>", done.stdout))
        return texts

    site.wait_for(measured, 300, "the page in a frame")
    found = json.loads(html.unescape(texts[0]))
    assert found.pop("texts") > 100 and found.pop("dark") == (color == "dark")
    assert not any(found.values()), found


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
