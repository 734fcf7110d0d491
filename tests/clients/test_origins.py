"""Application servers behind mod_proxy that compress by themselves: what they have encoded passes
as it is, and what they have not is encoded."""

import functools
import socket

import pytest

from kit import bodies
from kit.process import Backend, accepts, free_port, need

PAGE, BIG = bodies.html(30_000), bodies.html(400_000)

# Of both: /page and /big in gzip where that is accepted; /plain as it is; /stream in gzip, flushed
# after each piece; X-Packed says what they did.
GUNICORN = """
import gzip, zlib
BODIES = {name: open(name, "rb").read() for name in ("page", "big")}
def pieces(body):
    packer = zlib.compressobj(wbits=31)
    for at in range(0, len(body), 3000):
        yield packer.compress(body[at:at + 3000]) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()
def app(environ, start):
    name = environ["PATH_INFO"].strip("/")
    body = BODIES["big" if name == "big" else "page"]
    headers = [("Content-Type", "text/html"), ("ETag", '"1"')]
    packs = name != "plain" and "gzip" in environ.get("HTTP_ACCEPT_ENCODING", "")
    if name != "plain":
        headers.append(("Vary", "Accept-Encoding"))
    if packs:
        headers += [("Content-Encoding", "gzip"), ("X-Packed", "gzip")]
    if packs and name == "stream":
        start("200 OK", headers)
        return pieces(body) if environ["REQUEST_METHOD"] != "HEAD" else []
    body = gzip.compress(body) if packs else body
    start("200 OK", [*headers, ("Content-Length", str(len(body)))])
    return [body] * (environ["REQUEST_METHOD"] != "HEAD")  # gunicorn leaves that to frameworks
"""
NODE = """
const http = require("http"), zlib = require("zlib"), fs = require("fs");
const bodies = {page: fs.readFileSync("page"), big: fs.readFileSync("big")};
http.createServer((request, response) => {
    const name = request.url.slice(1), accept = request.headers["accept-encoding"] || "";
    const body = bodies[name == "big" ? "big" : "page"];
    const coding = name == "plain" ? "" : (/br|gzip/.exec(accept) || [""])[0];
    response.setHeader("Content-Type", "text/html");
    response.setHeader("ETag", '"1"');
    if (name != "plain") response.setHeader("Vary", "Accept-Encoding");
    if (!coding) return response.end(body);
    response.setHeader("Content-Encoding", coding);
    response.setHeader("X-Packed", coding);
    const packer = coding == "gzip" ? zlib.createGzip() : zlib.createBrotliCompress(
        {params: {[zlib.constants.BROTLI_PARAM_QUALITY]: 4}});
    packer.pipe(response);
    if (name != "stream") return packer.end(body);
    (function next(at) {
        if (at >= body.length) return packer.end();
        packer.write(body.slice(at, at + 3000));
        packer.flush(() => next(at + 3000));
    })(0);
}).listen(+process.argv[2], "127.0.0.1");
"""
SERVER_XML = """<Server port="-1"><Service name="Catalina">
<Connector port="%d" address="127.0.0.1" protocol="HTTP/1.1" compression="on"
    compressionMinSize="1000"/>
<Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps"/></Engine>
</Service></Server>"""
WEB_XML = """<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="5.0">
<servlet><servlet-name>default</servlet-name>
<servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class></servlet>
<servlet-mapping><servlet-name>default</servlet-name><url-pattern>/</url-pattern></servlet-mapping>
<mime-mapping><extension>html</extension><mime-type>text/html</mime-type></mime-mapping>
<mime-mapping><extension>svg</extension><mime-type>image/svg+xml</mime-type></mime-mapping>
</web-app>"""


def write(folder, files):
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def gunicorn(folder, port):
    """{path: body}, the command."""
    need("gunicorn")
    write(folder, {"app.py": GUNICORN, "page": PAGE, "big": BIG})
    return {"page": PAGE, "big": BIG, "plain": PAGE, "stream": PAGE}, [
        "gunicorn", "-b", f"127.0.0.1:{port}", "--chdir", str(folder), "--threads", "4", "app:app"]


def node(folder, port):
    need("node", "nodejs")
    write(folder, {"app.js": NODE, "page": PAGE, "big": BIG})
    return {"page": PAGE, "big": BIG, "plain": PAGE, "stream": PAGE}, [
        "sh", "-c", 'cd "$0" && exec node app.js "$1"', str(folder), str(port)]


def tomcat(folder, port):
    need("java", "default-jre-headless")
    # It does not compress what it sends by sendfile, from 48 KB on, and not what is no page.
    write(folder, {"conf/server.xml": SERVER_XML % port, "webapps/ROOT/WEB-INF/web.xml": WEB_XML,
                   "webapps/ROOT/page.html": PAGE, "webapps/ROOT/big.html": BIG,
                   "webapps/ROOT/plain.svg": PAGE, "temp/x": b"", "logs/x": b""})
    home = "/usr/share/tomcat10"
    return {"page.html": PAGE, "big.html": BIG, "plain.svg": PAGE}, [
        "java", "-Xmx128m", f"-Dcatalina.home={home}", f"-Dcatalina.base={folder}",
        f"-Djava.io.tmpdir={folder}/temp", "-cp",
        f"{home}/bin/bootstrap.jar:{home}/bin/tomcat-juli.jar",
        "org.apache.catalina.startup.Bootstrap", "start"]


@pytest.fixture(scope="session", params=[gunicorn, node, tomcat], ids=lambda make: make.__name__)
def origin(request, tmp_path_factory):
    """({path: body}, its port)."""
    port = free_port()
    paths, command = request.param(tmp_path_factory.mktemp(request.param.__name__), port)
    backend = Backend(command, functools.partial(accepts, socket.AF_INET, ("127.0.0.1", port)))
    yield paths, port
    backend.stop()


@pytest.mark.parametrize("version", ["http/1.1", "h2"])
def test_origin(site, origin, version):
    """gunicorn, node, tomcat: pages that they compress, stream compressed, or do not compress"""
    paths, port = origin
    server = site(f"ProxyPass / http://127.0.0.1:{port}/\n", modules=["proxy", "proxy_http"],
                  tls=True, h2=True)
    get = functools.partial(server.get, protocol=version)
    packed = set()
    for name, body in paths.items():
        for accepts_ in (None, "gzip", "br", "gzip, br", "identity"):
            answer = get(f"/{name}", ae=accepts_)
            assert answer.status == 200 and answer.body == body, (name, accepts_, answer)
            can = [] if accepts_ in (None, "identity") else accepts_.split(", ")
            assert answer.coding in (can or [None]), (name, accepts_, answer)
            assert answer.varies, answer
            assert answer.headers["Vary"].lower().count("accept-encoding") == 1, answer
            packed.add(answer.headers.get("X-Packed"))
            assert "X-Packed" not in answer.headers or answer.headers["X-Packed"] == answer.coding
            again = get(f"/{name}", ae=accepts_, headers={"If-None-Match": answer.headers["ETag"]})
            assert again.status == 304 and not again.raw or again.body == body, again
            head = server.head(f"/{name}", ae=accepts_, protocol=version)
            assert head.status == 200 and not head.raw
    assert "stream" not in paths or "gzip" in packed
