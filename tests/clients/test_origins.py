"""Chromium and Firefox: pages of two origins, each of which uses what the other one has. Browsers
decide by the fields of the answer who may read it."""

import base64
import hashlib

from browsers import BROWSERS
from kit import bodies
from site_of import logged

SHARED = {
    "data.json": b'{"words": "%s"}' % bodies.text(40_000),
    "script.js": b"window.came = 'script';\n// %s" % bodies.text(9000),
    "module.js": b"export const came = 'module';\n// %s" % bodies.text(9000),
    "style.css": b"body { color: rgb(1, 2, 3) }\n/* %s */" % bodies.text(9000),
    "picture.svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="123" height="45">'
                   b"<!-- %s --></svg>" % bodies.text(5000),
}
CLOSED = b'{"secret": "%s"}' % bodies.text(9000)


def integrity(name):
    return "sha256-" + base64.b64encode(hashlib.sha256(SHARED[name]).digest()).decode()


PAGE = """<!DOCTYPE html><html><body><script>
const other = new URLSearchParams(location.search).get("other"), shared = `${other}/shared`;
function element(name, fields) {
    return new Promise((resolve, reject) => {
        const made = document.createElement(name);
        Object.assign(made, {crossOrigin: "anonymous"}, fields);
        made.onload = () => resolve(made);
        made.onerror = () => reject(Error(`${name} failed`));
        document.body.append(made);
    });
}
const read = (path, options) => fetch(path, options).then(answer => answer.text());
async function everything() {
    const got = {};
    for (const cache of ["reload", "no-cache", "default"])
        got[cache] = (await read(`${shared}/data.json`, {cache})).length;
    got.asked = (await read(`${shared}/data.json`, {headers: {"X-Own": "1"}})).length;
    const [{encodedBodySize, decodedBodySize}] =
        performance.getEntriesByName(`${shared}/data.json`);
    got.sizes = [encodedBodySize, decodedBodySize];
    await element("script", {src: `${shared}/script.js`, integrity: "SCRIPT"});
    got.script = window.came;
    got.module = (await import(`${shared}/module.js`)).came;
    const link = await element("link",
        {rel: "stylesheet", href: `${shared}/style.css`, integrity: "STYLE"});
    got.css = [link.sheet.cssRules.length, getComputedStyle(document.body).color];
    got.svg = (await element("img", {src: `${shared}/picture.svg`})).naturalWidth;
    got.closed = await read(`${other}/closed.json`).catch(error => error.name);
    got.opaque = (await fetch(`${other}/closed.json`, {mode: "no-cors"})).type;
    return got;
}
window.result = everything();
</script></body></html>""".replace("SCRIPT", integrity("script.js")) \
    .replace("STYLE", integrity("style.css")).encode() + b"<!-- %s -->" % bodies.text(5000)

CONFIG = r"""
SetEnvIf Origin "^(http://[\w.]+:\d+)$" asking=$1
<Location /shared/>
    Header set Access-Control-Allow-Origin %{asking}e env=asking
    Header set Access-Control-Allow-Headers X-Own
    Header set Timing-Allow-Origin *
    Header set Cache-Control no-cache
    Header merge Vary Origin
</Location>
"""


@BROWSERS
def test_origins(site, kind, browser):
    """Chromium, Firefox: JSON, scripts with a hash, modules, styles, pictures of another origin"""
    server = site(CONFIG, files={"page.html": PAGE, "closed.json": CLOSED,
                                 **{f"shared/{name}": body for name, body in SHARED.items()}})
    one, other = (f"http://{host}:{server.port}" for host in ("localhost", "127.0.0.1"))
    length = len(SHARED["data.json"])
    # The first one again, of whose answers the server has kept what it could.
    for asking, asked in ((one, other), (other, one), (one, other)):
        got = browser.ask(f"{asking}/page.html?other={asked}", "window.result")
        assert isinstance(got, dict), got
        sizes = got.pop("sizes")
        assert 0 < sizes[0] < sizes[1] == length, sizes
        assert got == {"reload": length, "no-cache": length, "default": length, "asked": length,
                       "script": "script", "module": "module", "css": [1, "rgb(1, 2, 3)"],
                       "svg": 123, "closed": "TypeError", "opaque": "opaque"}
    for name in SHARED:
        assert {answer.coding for answer in logged(server, path=f"/shared/{name}", method="GET",
                                                   status="200")} <= {"gzip", "br", "zstd"}, name
    assert logged(server, method="OPTIONS")
    assert kind.stock or logged(server, path="/shared/data.json", status="304")
