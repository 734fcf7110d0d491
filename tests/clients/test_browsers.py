"""Chromium and Firefox: a site with all that sites have, whose page says what came."""

import hashlib
import math
import struct

import pytest

from kit import bodies
from browsers import BROWSERS, address
from site_of import answers, logged

SECONDS, RATE = 60, 44100

# (func (export "add") (param i32 i32) (result i32) ...), behind a section of text.
_TEXT = bodies.text(5000)
WASM = (b"\0asm\x01\0\0\0" b"\0" + bytes([0x80 | (len(_TEXT) + 2) & 127, (len(_TEXT) + 2) >> 7])
        + b"\x01x" + _TEXT
        + b"\x01\x07\x01\x60\x02\x7f\x7f\x01\x7f" b"\x03\x02\x01\0" b"\x07\x07\x01\x03add\0\0"
        b"\x0a\x09\x01\x07\0\x20\0\x20\x01\x6a\x0b")


def sound():
    wave = [int(3000 * math.sin(n / 9)) for n in range(RATE)]
    data = struct.pack(f"<{RATE}h", *wave) * SECONDS
    return struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1,
                       RATE, 2 * RATE, 2, 16, b"data", len(data)) + data


FETCHED = {"data.json": b'{"words": "%s"}' % bodies.text(40_000), "text.txt": bodies.text(300_000),
           "noise.bin": bodies.noise(100_000), "page.html": bodies.html(50_000),
           "tiny.txt": b"tiny"}
FILES = {
    **FETCHED, "add.wasm": WASM, "sound.wav": sound(),
    "style.css": b"body { background-color: rgb(1, 2, 3) }\n/* %s */" % bodies.text(9000),
    "picture.svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="123" height="45">'
                   b"<!-- %s --></svg>" % bodies.text(5000),
    "index.html": b"""<!DOCTYPE html><html><head><link rel="stylesheet" href="style.css">
<script src="app.js"></script></head><body><img id="picture" src="picture.svg">
<audio id="sound" src="sound.wav" preload="auto"></audio><p id="last">%s</p></body></html>"""
                  % bodies.text(20_000),
    "app.js": b"const FETCHED = %s; const SEEK = %d;\n" % (
        repr(list(FETCHED)).encode(), SECONDS - 7) + b"""
async function hash(name, cache) {
    const body = await (await fetch(name, {cache})).arrayBuffer();
    const sum = await crypto.subtle.digest("SHA-256", body);
    return Array.from(new Uint8Array(sum), n => n.toString(16).padStart(2, "0")).join("");
}
function event(target, name) {
    return new Promise((resolve, reject) => {
        target.addEventListener(name, resolve, {once: true});
        target.addEventListener("error", () => reject(Error(`no ${name} of ${target}`)));
    });
}
// The server waits with each event until the last one is acknowledged.
function events() {
    const source = new EventSource("events.cgi"), got = [];
    return new Promise((resolve, reject) => {
        source.onerror = () => reject(Error(`${got.length} events`));
        source.onmessage = message => {
            fetch(`seen.cgi?${got.length}`, {method: "POST"});
            if (got.push(message.data) == 5) {
                source.close();
                resolve(got);
            }
        };
    });
}
async function seek() {
    const sound = document.getElementById("sound");
    if (sound.readyState < 1) await event(sound, "loadedmetadata");
    sound.currentTime = SEEK;
    await event(sound, "seeked");
    return [Math.round(sound.duration), Math.round(sound.currentTime)];
}
async function everything() {
    const got = {};
    for (const name of FETCHED) got[name] = await hash(name, "no-cache");
    for (const name of FETCHED) got[`again ${name}`] = await hash(name, "no-cache");
    got.json = (await (await fetch("data.json")).json()).words.length;
    got.css = getComputedStyle(document.body).backgroundColor;
    got.svg = document.getElementById("picture").naturalWidth;
    got.html = document.getElementById("last").textContent.length;
    const wasm = await WebAssembly.instantiateStreaming(fetch("add.wasm"));
    got.wasm = wasm.instance.exports.add(40, 2);
    got.events = await events();
    got.sound = await seek();
    return got;
}
window.result = new Promise(resolve => addEventListener("load", resolve)).then(everything);
"""}

EVENTS = """
import pathlib
head('Content-Type: text/event-stream', 'Cache-Control: no-cache')
for n in range(5):
    out(f'data: event {n}\\n\\n')
    seen = pathlib.Path(os.environ['KIT'], 'seen', str(n))
    until = time.monotonic() + float(os.environ['PATIENCE'])
    while not seen.exists():
        time.sleep(0.01)
        if time.monotonic() > until:
            if 'HELD' not in os.environ:
                sys.exit(f'event {n} was held')
            break
"""
SEEN = """
open(os.path.join(os.environ['KIT'], 'seen', os.environ['QUERY_STRING']), 'w')
head('Content-Type: text/plain')
"""
CONFIG = """
AddType application/wasm .wasm
AddType audio/wav .wav
Header set Cache-Control no-cache
{events}
"""


@BROWSERS
@pytest.mark.parametrize("version", ["h1", "h2"])
def test_site(site, kind, browser, version):
    """Chromium, Firefox: a site of HTML, CSS, JS, JSON, SVG, wasm, events, sound"""
    # The stock modules hold what a script writes until it ends.
    events = "SetEnv PATIENCE 0.1\nSetEnv HELD 1" if kind.stock else "SetEnv PATIENCE 20"
    server = site(CONFIG.replace("{events}", events), files=FILES, tls=True, h2=True,
                  cgi={"events.cgi": EVENTS, "seen.cgi": SEEN})
    server.folder("seen")
    url = address(server, "http" if version == "h1" else "https")
    got = browser.ask(f"{url}/index.html", "window.result")
    assert isinstance(got, dict), got
    for name, body in FETCHED.items():
        sum = hashlib.sha256(body).hexdigest()
        assert (got[name], got[f"again {name}"]) == (sum, sum), name
    assert got["json"] == 40_000 and got["html"] == 20_000
    assert (got["css"], got["svg"], got["wasm"]) == ("rgb(1, 2, 3)", 123, 42)
    assert got["events"] == [f"event {n}" for n in range(5)]
    assert got["sound"] == [SECONDS, SECONDS - 7]
    for name in ("index.html", "style.css", "app.js", "picture.svg", "add.wasm", "data.json",
                 "events.cgi"):
        assert {answer.coding for answer in logged(server, path=f"/{name}", status="200")} \
            <= {"gzip", "br", "zstd"}, name
    assert logged(server, path="/sound.wav", status="206")
    # Tags of the stock modules never yield 304, and Chromium keeps nothing of a server that it
    # does not trust.
    assert kind.stock or version == "h2" or logged(server, path="/data.json", status="304")
    assert {answer.protocol for answer in answers(server) if answer.path == "/index.html"} \
        == {"HTTP/2.0" if version == "h2" else "HTTP/1.1"}
