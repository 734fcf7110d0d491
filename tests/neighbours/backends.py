"""Places where an application of apps/ runs, and what their answers look like to a client."""

import functools
import shutil
import socket
from pathlib import Path

import pytest

from kit import client, decode
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


def uwsgi(folder):
    need("uwsgi-core", "uwsgi-core and uwsgi-plugin-python3")
    shutil.copy(_APPS / "app.wsgi", folder / "app.py")
    port, log = free_port(), folder / "uwsgi.log"
    backend = Backend(["uwsgi-core", "--plugin", "python3", "--uwsgi-socket", f"127.0.0.1:{port}",
                       "--wsgi-file", str(folder / "app.py"), "--master", "--threads", "4",
                       "--need-app", "--die-on-term", "--logto", str(log)],
                      _listens(port), log.read_text)
    return f"ProxyPass /app/ uwsgi://127.0.0.1:{port}/\n", ("proxy_uwsgi",), backend


_SERVER_XML = """<Server port="-1"><Service name="Catalina">
<Connector port="%d" address="127.0.0.1" protocol="%s" connectionTimeout="1000" %s/>
<Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps"/></Engine>
</Service></Server>"""
_WEB_XML = """<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="5.0">
<servlet><servlet-name>jsp</servlet-name>
<servlet-class>org.apache.jasper.servlet.JspServlet</servlet-class></servlet>
<servlet><servlet-name>app</servlet-name><jsp-file>/app.jsp</jsp-file></servlet>
<servlet-mapping><servlet-name>app</servlet-name><url-pattern>/app/*</url-pattern></servlet-mapping>
</web-app>"""


def _tomcat(folder, port, protocol, more=""):
    """It compiles the page by itself."""
    need("java", "default-jre-headless")
    home, java = Path("/usr/share/tomcat10"), Path("/usr/share/java")
    compilers = [path for path in (java / "ecj.jar", java / "eclipse-jdt-core.jar")
                 if path.exists()]
    if not (home / "bin/bootstrap.jar").exists() or not compilers:
        pytest.skip("Tomcat is not there (package tomcat10-common)")
    root = folder / "webapps/ROOT"
    for path in (root / "WEB-INF", folder / "conf", folder / "temp", folder / "logs"):
        path.mkdir(parents=True)
    (folder / "conf/server.xml").write_text(_SERVER_XML % (port, protocol, more))
    (root / "WEB-INF/web.xml").write_text(_WEB_XML)
    shutil.copy(_APPS / "app.jsp", root)
    path = [home / "bin/bootstrap.jar", home / "bin/tomcat-juli.jar", *compilers]
    return Backend(["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", f"-Dcatalina.home={home}", f"-Dcatalina.base={folder}",
                    f"-Djava.io.tmpdir={folder}/temp", "-cp", ":".join(map(str, path)),
                    "org.apache.catalina.startup.Bootstrap", "start"], _listens(port))


def tomcat(folder):
    port = free_port()
    backend = _tomcat(folder, port, "HTTP/1.1")
    return f"ProxyPass /app/ http://127.0.0.1:{port}/app/\n", (), backend


def tomcat_ajp(folder):
    port = free_port()
    backend = _tomcat(folder, port, "AJP/1.3", 'secretRequired="false"')
    return f"ProxyPass /app/ ajp://127.0.0.1:{port}/app/\n", ("proxy_ajp",), backend


def puma(folder):
    need("puma")
    (folder / "puma.rb").write_text("persistent_timeout 1\nearly_hints true\n")
    port = free_port()
    backend = Backend(["puma", "-C", str(folder / "puma.rb"), "-b", f"tcp://127.0.0.1:{port}",
                       "-t", "4:4", "-e", "production", str(_APPS / "config.ru")], _listens(port))
    return f"ProxyPass /app/ http://127.0.0.1:{port}/\n", (), backend


def cgi(folder):
    return "ScriptAlias /app {root}/private/app.fcgi\n", (), None


def perl_cgi(folder):
    return "ScriptAlias /app {root}/private/plain.pl\n", (), None


def mod_lua(folder):
    return 'LuaMapHandler "^/app/" {root}/private/app.lua\n', ("lua",), None


def php_cgi(folder):
    need("php-cgi")
    return ("AliasMatch ^/app/ {root}/private/app.php\n"
            "ScriptAlias /php-bin {root}/private/php-cgi\nAction app-php /php-bin\n"
            "<Location /app>\nSetHandler app-php\n</Location>\n"), ("actions",), None


def php_fcgid(folder):
    need("php-cgi")
    return ("AliasMatch ^/app/ {root}/private/app.php\nFcgidIPCDir {root}/cache\n"
            "FcgidProcessTableFile {root}/cache/fcgid\nFcgidOutputBufferSize 0\n"
            "<Location /app>\nSetHandler fcgid-script\nOptions +ExecCGI\n"
            "FcgidWrapper {root}/private/php-cgi virtual\n</Location>\n"), ("fcgid",), None


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
          _row("passenger", "/passenger"), mod_lua, perl_cgi, php_cgi, php_fcgid, uwsgi, tomcat,
          tomcat_ajp, puma)
PRIVATE = {name: (_APPS / name).read_text()
           for name in ("app.fcgi", "app.wsgi", "app.pl", "app.php", "app.lua", "plain.pl")}
PRIVATE["php-cgi"] = "#!/bin/sh\nexec php-cgi\n"
PRIVATE["passenger_wsgi.py"] = PRIVATE["app.wsgi"]


_MORE = {node: ("trailers", "hints"), tomcat: ("trailers",), puma: ("hints",)}


def behaviours(place):
    for name in BEHAVIOURS:
        if name in ("trailers", "hints") and name not in _MORE.get(place, ()):
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
    early = "".join(f"{head.status}, " for head in answer.interim)
    trailer = ", with its trailer" if "X-Trailer" in answer.trailers else ""
    return answer.coding, f"{early}{answer.status}, {_body(answer, method)}{kept}{trailer}"


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
