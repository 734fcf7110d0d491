"""Places where an application of apps/ runs, and what their answers look like to a client."""

import functools
import shutil
import socket
import time
from pathlib import Path

from kit import client, decode, env
from kit.fpm import Fpm
from kit.process import Backend, accepts, free_port, need

import beside
import modules

PAGE = b"<p>A line of the application.</p>\n" * 900
_APPS = Path(__file__).parent / "apps"

BEHAVIOURS = {
    "page": "as the place frames it", "length": "with its length", "pieces": "in pieces",
    "HEAD": "HEAD", "gone": "a 404", "none": "a 204 with fields", "reset": "a 205 with fields",
    "kept": "a 304 with fields", "coded": "in gzip of its own", "events": "an event stream",
    "long": "a length that is larger than the body", "short": "a length that is smaller",
    "stops": "the application ends in the middle", "trailers": "with trailers",
    "hints": "behind a 103",
}


_NGINX = """
daemon off;
worker_processes 1;
pid %(folder)s/pid;
events { worker_connections 64; }
http {
    access_log off;
    default_type text/html;
    client_body_temp_path %(folder)s/body;
    proxy_temp_path %(folder)s/proxy;
    fastcgi_temp_path %(folder)s/fastcgi;
    uwsgi_temp_path %(folder)s/uwsgi;
    scgi_temp_path %(folder)s/scgi;
    server {
        listen 127.0.0.1:%(port)d;
        root %(folder)s/docs;
        location = /coded { gzip on; gzip_proxied any; gzip_http_version 1.0; }
        location = /none { add_header Cache-Control max-age=9 always; return 204; }
        location = /reset { add_header Cache-Control max-age=9 always; return 205; }
        location = /kept { add_header Cache-Control max-age=9 always; return 304; }
    }
}
"""


def _listens(port):
    return functools.partial(accepts, socket.AF_INET, ("127.0.0.1", port))


def gunicorn(folder):
    """(configuration, modules, what to stop)."""
    need("gunicorn")
    shutil.copy(_APPS / "app.wsgi", folder / "app.py")
    port = free_port()
    backend = Backend(["gunicorn", "-b", f"127.0.0.1:{port}", "--chdir", str(folder), "--threads",
                       "4", "app:application"], _listens(port))
    return f"ProxyPass /app/ http://127.0.0.1:{port}/\n", (), backend


def node(folder):
    need("node", "nodejs")
    port = free_port()
    backend = Backend(["node", str(_APPS / "app.js"), str(port)], _listens(port))
    return f"ProxyPass /app/ http://127.0.0.1:{port}/\n", (), backend


def php_fpm(folder):
    (folder / "run").mkdir()
    for path in (folder, folder / "run"):
        path.chmod(0o755)
    shutil.copy(_APPS / "app.php", folder)
    (folder / "app.php").chmod(0o644)
    # Without -n it has the distribution's modules.
    backend = Fpm(folder, "security.limit_extensions = .php", options=())
    return (f"ProxyPassMatch ^/app/(.*)$ unix:{backend.socket}|fcgi://localhost{folder}/app.php/$1"
            "\nProxyFCGIBackendType FPM\n"), ("proxy_fcgi",), backend


def nginx(folder):
    """Its own files, and statuses that it can return."""
    need("/usr/sbin/nginx", "nginx-light")
    port, docs = free_port(), folder / "docs"
    docs.mkdir()
    for path in (folder, docs):
        path.chmod(0o755)
    for name in ("page", "length", "coded"):
        (docs / name).write_bytes(PAGE)
    (folder / "nginx.conf").write_text(_NGINX % {"folder": folder, "port": port})
    log = folder / "error.log"
    backend = Backend(["/usr/sbin/nginx", "-e", str(log), "-c", f"{folder}/nginx.conf"],
                      _listens(port), log.read_text)
    return f"ProxyPass /app/ http://127.0.0.1:{port}/\n", (), backend


def cgi(folder):
    return "ScriptAlias /app {root}/private/app.fcgi\n", (), None


def mod_php(folder):
    name = next(name for name in beside.available() if name.startswith("php"))
    return "AliasMatch ^/app/ {root}/private/app.php\n", (name,), None


mod_php.mpm = "prefork"


def _row(name, path):
    def place(folder):
        row = next(row for row in modules.ROWS if row.name == name)
        return row.lines.replace(path, "/app").replace(
            "FcgidIPCDir", "FcgidOutputBufferSize 0\nFcgidIPCDir"), row.names, None

    place.__name__ = f"mod_{name}"
    return place


PLACES = (gunicorn, node, nginx, php_fpm, cgi, _row("fcgid", "/fcgi"), _row("wsgi", "/wsgi"),
          _row("perl", "/perl"), mod_php,
          _row("passenger", "/passenger"))
PRIVATE = {name: (_APPS / name).read_text()
           for name in ("app.fcgi", "app.wsgi", "app.pl", "app.php")}
PRIVATE["passenger_wsgi.py"] = PRIVATE["app.wsgi"]


def behaviours(place):
    for name in BEHAVIOURS:
        if name in ("trailers", "hints") and place is not node:
            continue
        if place is nginx and name in ("gone", "pieces", "events", "long", "short", "stops"):
            continue
        if name == "stops" and place.__name__ in ("mod_perl", "mod_php"):
            continue  # they are parts of httpd
        yield name


def look(server, name):
    """(coding, the rest of what a client sees)."""
    if name == "events":
        return _events(server)
    method = "HEAD" if name == "HEAD" else "GET"
    path = f"/app/{'page' if name == 'HEAD' else name}"
    try:
        answer = server.get(path, "gzip", method=method, timeout=20)
    except (OSError, client.Incomplete) as error:
        return None, f"no answer ({type(error).__name__})"
    kept = ", with its fields" if "max-age=9" in (answer.headers.get("Cache-Control") or "") else ""
    return answer.coding, f"{answer.status}, {_body(answer, method)}{kept}"


def _body(answer, method):
    if method == "HEAD" or not answer.raw and answer.status in (204, 205, 304):
        return "no body"
    try:
        body = answer.body
    except (client.Incomplete, decode.DecodeError):
        return "broken off"
    if body == PAGE:
        return "whole"
    if PAGE.startswith(body):
        return f"{len(body)} of {len(PAGE)} bytes, as if whole"
    return "other bytes"


def _events(server):
    try:
        with server.stream("/app/events", "gzip", timeout=20) as stream:
            stream.wait_for(b"event 0", 10)
            early = b"event 2" not in stream.text
            whole = stream.read_all(10).count(b"data: ") == 3
    except (OSError, client.Incomplete, decode.DecodeError) as error:
        return None, f"no answer ({type(error).__name__})"
    return stream.coding, f"{stream.status}, {'whole' if whole else 'broken off'}, " \
        f"{'each event at once' if early else 'all at the end'}"
