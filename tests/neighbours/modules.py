"""Every module that a2enmod could enable here, and what each needs to do something.

Modules without a row are loaded with their package's configuration alone.
"""

import base64
import hashlib
from pathlib import Path
from typing import NamedTuple

import pytest

from asked import PAGE, TEXT, Ask
import beside

_APPS = Path(__file__).parent / "apps"


class Near(NamedTuple):
    """`lines` are for the server and `at` for its place /m; `private` has files outside of the
    documents, in {root}/private. `with_` names further modules. `known`: (pattern, why) of
    differences that are meant to be; `noise`: a pattern of lines of the log that come or not.
    `apart`: why it is not loaded together with all others. `out`: why it is not loaded at all.
    `short`: it is in the short form."""
    name: str = ""
    lines: str = ""
    at: str = ""
    asks: tuple = ()
    files: dict = {}
    cgi: dict = {}
    private: dict = {}
    with_: tuple = ()
    mpm: str = "event"
    tls: bool = False
    h2: bool = False
    known: tuple = ()
    noise: str = ""
    apart: str = ""
    out: str = ""
    short: bool = False

    @property
    def names(self):
        return tuple(dict.fromkeys(filter(None, (self.name, *self.with_))))


def _app(name):
    return (_APPS / name).read_text()


def _pages(*paths, **kw):
    return tuple(Ask(path, path, **kw) for path in paths)


_USER = (("Authorization", "Basic " + base64.b64encode(b"user:word").decode()),)
_PASSWORDS = {"users": "user:{SHA}" + base64.b64encode(
    hashlib.sha1(b"word").digest()).decode() + "\n"}
_BASIC = "AuthType Basic\nAuthName here\nAuthUserFile {root}/private/users\nRequire valid-user"
_SIGNED_IN = (Ask("signed in", "/m/page.html", headers=_USER),
              Ask("signed in, script", "/m/script.cgi", headers=_USER))
_DBD = "DBDriver sqlite3\nDBDParams {root}/private/db\n"
_HTML_FILTER = "AddOutputFilterByType %s text/html"

_RANGES = ((r"^range(, gzip accepted)?: status 20",
            "whether mod_cache has the page, and in which coding, says whether there is a range"),
           ("HEAD of a script: .* later",
            "the HEAD of a script has no length here, so mod_cache asks the script again"),
           ("304.*: last-modified: .*none", "whether mod_cache answers depends on the time"))

# The applications answer these in the same way: apps/ has them.
_APP = ("page", "length", "pieces", "gone", "none", "long")


def _application(prefix, *more):
    return tuple(Ask(f"application: {name}", f"{prefix}{name}") for name in (*_APP, *more)) + (
        Ask("application: HEAD", f"{prefix}page", "HEAD"),
        Ask("application: POST", f"{prefix}echo", "POST",
            headers=(("Content-Type", "text/plain"),), body=TEXT))


ROWS = (
    Near("access_compat", at="Order allow,deny\nAllow from all\nDeny from 10.0.0.1"),
    Near("actions", lines="Action wrapped /script.cgi\nAddHandler wrapped .act\n",
         files={"a.act": b"x"}, asks=_pages("/a.act")),
    Near("alias", lines="Redirect /old /page.html\nScriptAlias /bin {docs}/\n",
         asks=_pages("/old", "/bin/script.cgi")),
    Near("asis", lines="AddHandler send-as-is asis\n", asks=_pages("/a.asis"),
         files={"a.asis": b"Status: 200 OK\nContent-Type: text/html\n\n" + PAGE}),
    Near("auth_basic", at=_BASIC, private=_PASSWORDS, asks=_SIGNED_IN,
         with_=("authn_file", "authz_user")),
    Near("auth_form", with_=("authn_file", "authz_user", "session", "session_cookie", "request"),
         private=_PASSWORDS, at=_BASIC.replace("Basic", "form") +
         "\nAuthFormProvider file\nSession On\nSessionCookieName session path=/\n"
         "AuthFormLoginRequiredLocation /page.html"),
    Near("authn_socache", at=_BASIC + "\nAuthnCacheProvideFor file\n"
         "AuthBasicProvider socache file", private=_PASSWORDS, asks=_SIGNED_IN,
         with_=("authn_file", "auth_basic", "authz_user", "socache_shmcb")),
    Near("autoindex", at="Options +Indexes", asks=_pages("/list/", "/m/list/"),
         files={f"list/{name}.txt": b"x" for name in range(60)}, lines="<Directory {docs}/list>\n"
         "Options +Indexes\n</Directory>\n"),
    Near("bucketeer", at="SetOutputFilter BUCKETEER"),
    Near("buffer", at="SetOutputFilter BUFFER\nSetInputFilter BUFFER\nBufferSize 4096"),
    Near("cache_disk", known=_RANGES, noise="Cannot open data file",
         lines="CacheEnable disk /\nCacheIgnoreNoLastMod On\n", with_=("cache",),
         asks=_pages("/page.html?again"), apart="what it stores would answer for the others"),
    Near("cache_socache", known=_RANGES, lines="CacheEnable socache /\nCacheSocache shmcb\n",
         with_=("cache", "socache_shmcb"), apart="what it stores would answer for the others"),
    Near("case_filter", lines="CaseFilter On\n", apart="it makes all text upper case"),
    Near("case_filter_in", lines="CaseFilterIn On\n", apart="it makes all text upper case"),
    Near("cern_meta", at="MetaFiles On"),
    Near("cgi", mpm="prefork", short=True, apart="it and mod_cgid are for different MPMs"),
    Near("charset_lite", at="CharsetSourceEnc ISO-8859-1\nCharsetDefault UTF-8"),
    Near("data", lines="<Location /picture.png>\nSetOutputFilter DATA\n</Location>\n"),
    Near("dav_fs", at="Dav On", asks=(
        Ask("PROPFIND", "/m/", "PROPFIND", headers=(("Depth", "1"),), loose=True),
        Ask("PROPFIND of a page", "/m/page.html", "PROPFIND", headers=(("Depth", "0"),),
            loose=True))),
    Near("dav_lock", with_=("dav",)),
    Near("dbd", lines=_DBD), Near("authn_dbd", lines=_DBD), Near("authz_dbd", lines=_DBD),
    Near("session_dbd", lines=_DBD, with_=("dbd",)),
    Near("dnssd", noise="long lost child"),
    Near("dump_io", lines="DumpIOInput On\nDumpIOOutput On\n"),
    Near("dumpio", out="the row dump_io"),
    Near("expires", at='ExpiresActive On\nExpiresDefault "access plus 1 day"'),
    Near("ext_filter", lines='ExtFilterDefine upper mode=output cmd="/usr/bin/tr a-z A-Z"\n',
         at="SetOutputFilter upper"),
    Near("file_cache", lines="CacheFile {docs}/page.html\nMMapFile {docs}/small.html\n"),
    Near("heartbeat", lines="HeartbeatAddress 127.0.0.1:27999\n", with_=("status",)),
    Near("heartmonitor", lines="HeartbeatListen 127.0.0.1:27998\n",
         apart="a port that servers cannot share",
         out="it listens on one port, which servers cannot share"),
    Near("http2", h2=True, tls=True, short=True, asks=tuple(
        Ask(f"{protocol} {name}", path, protocol=protocol) for protocol in ("h2c", "h2")
        for name, path in (("static", "/page.html"), ("script", "/script.cgi"),
                           ("proxied", "/proxy/page")))),
    Near("imagemap", lines="AddHandler imap-file map\n", files={"a.map": b"default /page.html\n"},
         asks=_pages("/a.map")),
    Near("include", at="Options +Includes\nAddOutputFilter INCLUDES html", asks=_pages("/m/a.html"),
         files={"a.html": b'<!--#include virtual="/small.html" -->' + PAGE}),
    Near("log_debug", at='LogMessage "here"'),
    Near("log_forensic", lines="ForensicLog {root}/log/forensic\n"),
    Near("lua", private={"a.lua": _app("app.lua")}, at="LuaOutputFilter UPPER {root}/private/a.lua "
         "upper\nSetOutputFilter UPPER", asks=_pages("/lua/puts", "/lua/file"), files={},
         lines='LuaMapHandler "^/lua/" {root}/private/a.lua\n'),
    Near("macro", lines="<Macro here $x>\nHeader set X-Macro $x\n</Macro>\nUse here yes\n"),
    Near("md", tls=True),
    Near("mime_magic", files={"plain": PAGE}, asks=_pages("/plain")),
    Near("negotiation", at="Options +MultiViews", asks=_pages("/m/page"),
         known=(("/m/page: etag None",
                 "of httpd's tag of a variant half is missing, and no compressed body gets it"),)),
    Near("proxy_ajp"), Near("proxy_html", at="ProxyHTMLEnable On\nProxyHTMLURLMap /old /new"),
    Near("proxy_balancer", with_=("lbmethod_byrequests", "slotmem_shm"),
         lines="<Proxy balancer://all>\nBalancerMember http://127.0.0.1:{origin}\n</Proxy>\n"
         "ProxyPass /balanced balancer://all\n", asks=_pages("/balanced/page")),
    Near("proxy_hcheck", with_=("proxy_balancer", "lbmethod_byrequests", "slotmem_shm")),
    Near("proxy_http2", lines="ProxyPass /second h2c://127.0.0.1:{origin}\n"),
    Near("ratelimit", at="SetOutputFilter RATE_LIMIT\nSetEnv rate-limit 4096"),
    Near("reflector", lines="<Location /reflect>\nSetHandler reflector\n</Location>\n",
         asks=(Ask("reflected", "/reflect", "POST", headers=(("Content-Type", "text/html"),),
                   body=PAGE),)),
    Near("remoteip", lines="RemoteIPHeader X-Forwarded-For\n", asks=(
        Ask("forwarded", "/page.html", headers=(("X-Forwarded-For", "192.0.2.1"),)),)),
    Near("request", at="KeptBodySize 32"),
    Near("rewrite", short=True, lines="RewriteEngine On\nRewriteRule ^/new/(.*)$ /$1 [PT]\n"
         "RewriteRule ^/far/(.*)$ http://127.0.0.1:{origin}/$1 [P]\n"
         "RewriteRule ^/no/(.*)$ /$1 [PT,E=no-gzip:1]\n",
         asks=_pages("/new/page.html", "/new/script.cgi", "/far/page", "/no/page.html")),
    Near("sed", at='OutputSed "s/a/b/g"\nSetOutputFilter Sed'),
    Near("session_cookie", at="Session On\nSessionCookieName session path=/"),
    Near("session_crypto", with_=("session_cookie",), at="Session On\n"
         "SessionCookieName session path=/\nSessionCryptoPassphrase secret"),
    Near("speling", at="CheckSpelling On", asks=_pages("/m/paeg.html")),
    Near("ssl", tls=True, short=True, asks=tuple(
        Ask(f"TLS {path}", path, protocol="tls") for path in ("/page.html", "/script.cgi",
                                                              "/proxy/page", "/pieces.cgi"))),
    Near("substitute", at="Substitute s/a/b/n\n" + _HTML_FILTER % "SUBSTITUTE"),
    Near("unique_id", lines="Header set X-Unique %{UNIQUE_ID}e\n"),
    Near("usertrack", at="CookieTracking On"),
    Near("vhost_alias", lines=""),
    Near("xml2enc", at="SetOutputFilter xml2enc"),
    Near("headers", short=True, lines="Header set X-Here yes\nHeader append Vary Cookie\n",
         at="Header set Cache-Control no-cache\nRequestHeader set X-Asked yes"),
    Near("proxy_http", short=True, asks=(Ask("OPTIONS, proxied", "/proxy/page", "OPTIONS"),)),
    Near("proxy_fcgi", short=True),
    Near("cgid", short=True),
    # Other packages'.
    Near("auth_cas", lines="CASLoginURL https://localhost/login\n"
         "CASValidateURL https://localhost/validate\n",
         at="AuthType CAS\nAuthName here\nRequire valid-user"),
    Near("auth_mellon"),
    Near("auth_openidc", lines="OIDCProviderIssuer https://localhost\n"
         "OIDCProviderAuthorizationEndpoint https://localhost/authorize\nOIDCClientID here\n"
         "OIDCProviderJwksUri https://localhost/keys\n"
         "OIDCRedirectURI https://localhost/m/redirect\nOIDCCryptoPassphrase secret\n",
         at="AuthType openid-connect\nRequire valid-user"),
    Near("evasive", lines="DOSPageCount 10000\nDOSSiteCount 10000\n"),
    Near("fcgid", short=True, private={"app.fcgi": _app("app.fcgi")},
         lines="ScriptAlias /fcgi {root}/private/app.fcgi\nFcgidIPCDir {root}/cache\n"
         "FcgidProcessTableFile {root}/cache/fcgid\n<Directory {root}/private>\n"
         "SetHandler fcgid-script\nOptions +ExecCGI\n</Directory>\n",
         asks=_application("/fcgi/")),
    Near("geoip", lines="GeoIPEnable Off\n"),
    Near("log_sql_dbi", with_=("log_sql",)), Near("log_sql_mysql", with_=("log_sql",)),
    Near("log_sql_ssl", with_=("log_sql", "ssl")),
    Near("mapcache"), Near("tile"),
    Near("musicindex", at="Options +Indexes\nMusicIndex On"),
    Near("passenger", noise=r"^\[ [DWN] \d|^$",
         private={"passenger_wsgi.py": _app("app.wsgi")},
         lines="PassengerInstanceRegistryDir {root}/run\n"
         "PassengerDisableSecurityUpdateCheck On\nPassengerPython /usr/bin/python3\n"
         "Alias /passenger {root}/private/public\n<Location /passenger>\n"
         "PassengerBaseURI /passenger\n"
         "PassengerAppRoot {root}/private\nPassengerAppType wsgi\n</Location>\n",
         asks=_application("/passenger/", "small")),
    Near("perl", private={"app.pl": _app("app.pl")}, lines='PerlRequire "{root}/private/app.pl"\n'
         "<Location /perl>\nSetHandler perl-script\nPerlResponseHandler Here::App\n</Location>\n",
         asks=_application("/perl/")),
    Near("python", private={"here.py": _app("here.py")}, lines='<Location /python>\n'
         "SetHandler mod_python\nPythonPath \"['{root}/private'] + sys.path\"\n"
         "PythonHandler here\n</Location>\n", asks=_application("/python/"),
         apart="two Pythons in one process"),
    Near("qos", lines="QS_LocRequestLimitDefault 1000\nQS_SrvMaxConnPerIP 1000\n"),
    Near("removeip"), Near("rpaf"),
    Near("rivet", files={"a.rvt": b"<? for {set i 0} {$i < 900} {incr i} { ?><p>Line.\n<? } ?>"},
         asks=_pages("/a.rvt")),
    Near("security2", short=True, lines="SecRuleEngine On\nSecRequestBodyAccess On\n"
         "SecResponseBodyAccess On\nSecResponseBodyMimeType text/html text/plain\n"
         "SecTmpDir {root}/cache\nSecAuditEngine Off\n"
         "SecRuleRemoveById 949110 959100\n",  # those that refuse, of the rules beside the package
         at="SecDisableBackendCompression On", with_=("unique_id",)),
    Near("shib", apart="its daemon is not there"),
    Near("netcgi_apache", out="httpd cannot load it, or answers nothing with it"),
    Near("vhost_ldap", out="it asks an LDAP server before each request"),
    Near("wsgi", short=True, private={"app.wsgi": _app("app.wsgi")},
         lines="WSGIScriptAlias /wsgi {root}/private/app.wsgi\n",
         asks=_application("/wsgi/", "small")),
    Near("xsendfile", at="XSendFile On\nXSendFilePath {docs}", asks=_pages("/m/sends.cgi"),
         known=(("sends.cgi: coding gzip, stock None", "a file that is sent for a script is "
                 "compressed, which mod_filter leaves out"),
                ("sends.cgi: etag W/", "its tag says so")),
         cgi={"sends.cgi": "head('Content-Type: text/html', 'X-Sendfile: ' + "
                           "os.path.dirname(os.environ['SCRIPT_FILENAME']) + '/page.html')\n"}),
    Near("xforward"),
)

_PHP = Near("php", mpm="prefork", short=True, files={"app.php": _app("app.php").encode()},
            asks=_application("/app.php/"), apart="it is for prefork")


def rows():
    known = {row.name: row for row in ROWS}
    for name in beside.available():
        if name.startswith("php"):
            yield _PHP._replace(name=name)
        else:
            yield known.pop(name, None) or Near(name)


def each():
    for row in rows():
        yield pytest.param(row, marks=[pytest.mark.smoke] if row.short else [])
