"""Who may read the status and the metrics: where the server's own configuration says so, and nobody who
may only write .htaccess."""

import pytest

from kit import bodies, env
from kit.keep import reload

HANDLERS = {"elastic-status": "ElasticVersion", "elastic-metrics": "elastic_"}

# Names that must not be told to whom other tenants' pages are none of their business.
SECRET = "secret-tenant.example"

CONFIG = f"""
Elastic On
<Directory {{docs}}>
    AllowOverride All
    Options +Includes
</Directory>
<Location /own>
    SetHandler elastic-status
</Location>
<Directory {{docs}}/folder>
    SetHandler elastic-status
</Directory>
<Files figures.html>
    SetHandler Elastic-Metrics
</Files>
<LocationMatch ^/if>
    <If "%{{QUERY_STRING}} == 'yes'">
        SetHandler elastic-status
    </If>
</LocationMatch>
<Location /expression>
    SetHandler "elastic-%{{QUERY_STRING}}"
</Location>
<FilesMatch \\.other$>
    SetHandler default-handler
</FilesMatch>
<Location /added>
    AddHandler elastic-status .html
</Location>
<Location /moved>
    RewriteEngine On
    RewriteRule ^ - [H=elastic-status]
</Location>
<Location /server-status>
    SetHandler server-status
</Location>
ExtendedStatus Off
<VirtualHost 127.0.0.1:{{port}}>
    ServerName localhost
</VirtualHost>
<VirtualHost 127.0.0.1:{{port}}>
    ServerName {SECRET}
    <Location /only-here>
        SetHandler elastic-status
    </Location>
</VirtualHost>
"""


@pytest.fixture(scope="module")
def server(httpd_shared):
    files = {f"{folder}/{name}": "<p>a page</p>" for folder in ("tenant", "folder", "added", "moved")
             for name in ("page.html", "figures.html", "page.other")}
    return httpd_shared(CONFIG, files=files, modules=["rewrite", "status", "include", "actions"])


def htaccess(server, text):
    server.write("tenant/.htaccess", text)


def told(answer):
    """Whether the answer has figures of the server."""
    return any(word.encode() in answer.body for word in (*HANDLERS.values(), "mod_elastic"))


@pytest.mark.smoke
@pytest.mark.parametrize("path", [
    "/own?auto", "/folder/page.html?auto", "/tenant/figures.html", "/if?yes", "/expression?status",
    "/expression?metrics"])
def test_the_servers_own_configuration_opens_it(server, path):
    (server.docs / "tenant" / ".htaccess").unlink(missing_ok=True)
    answer = server.get(path)
    assert answer.status == 200 and told(answer), answer
    assert "no-store" in answer.headers["Cache-Control"]


def test_a_virtual_hosts_opens_it_there_alone(server):
    assert told(server.get("/only-here?auto", headers={"Host": SECRET}))
    assert server.get("/only-here?auto").status == 404


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("text", [
    "SetHandler %s", "SetHandler \"%s\"", "<Files page.*>\nSetHandler %s\n</Files>",
    "<If \"true\">\nSetHandler %s\n</If>", "AddHandler %s .html .other",
    "RewriteEngine On\nRewriteRule ^ - [H=%s]", "ForceType %s",
    "Action own /tenant/page.html virtual\nAddHandler %s .html .other"])
@pytest.mark.parametrize("name", ["page.html", "page.other"])
def test_htaccess_does_not(server, handler, text, name):
    """Also where a SetHandler of the server's own, which names another handler, is in force."""
    htaccess(server, text % handler + "\n")
    answer = server.get(f"/tenant/{name}?auto")
    assert not told(answer), answer
    assert answer.status in (200, 403)
    # Sections of files, which have a SetHandler of their own, are merged behind .htaccess.
    assert answer.status == 403 or name == "page.other" or text.startswith(("Action", "ForceType"))


@pytest.mark.parametrize("path", ["/added/page.html", "/moved/page.html"])
def test_other_directives_of_the_servers_own_do_not_either(server, path):
    assert server.get(path + "?auto").status == 403


def test_after_a_reload_it_is_as_before(server):
    htaccess(server, "SetHandler elastic-status\n")
    reload(server)
    assert server.get("/tenant/page.html?auto").status == 403
    assert told(server.get("/own?auto"))
    assert told(server.get("/if?yes"))


@pytest.mark.parametrize("query", ["", "?auto"])
def test_mod_statuss_page_names_no_virtual_host_and_no_path(server, query):
    """A .htaccess may open that page."""
    path = "/a-path-that-is-nobodys-business.html"
    server.write(path, bodies.html(20000))
    for _ in range(3):
        assert server.get(path, ae="gzip", headers={"Host": SECRET}).coding == "gzip"
    htaccess(server, "SetHandler server-status\n")
    answer = server.get(f"/tenant/page.html{query}")
    assert told(answer)
    assert SECRET.encode() not in answer.body and path.encode() not in answer.body
