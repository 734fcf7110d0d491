"""`httpd -t -D DUMP_ELASTIC`: the settings in force, in lines for programs."""

import hashlib
import os
import subprocess

from kit import env, sanitizer

CONFIG = """
Define folder dictionaries
Define name www.example
<Macro site $host $port>
<VirtualHost 127.0.0.1:$port>
ServerName $host:8443
ServerAlias other.example *.pattern.example
DocumentRoot {docs}
Elastic Off
<Location "/a b">
ElasticDictionaryFile site.dict match=/a/*
</Location>
</VirtualHost>
</Macro>
Elastic On
ElasticCodings gzip
ElasticLevel gzip 2 5
ElasticDictionaryStore {root}/${folder} 8M
ElasticDictionaryFile {root}/site.dict host="a.example b.example:8443"
ElasticDictionaryLink /dict
<IfModule elastic_module>
ElasticDictionary match="/a*" match-dest="style script" id="v 1"
</IfModule>
<IfModule absent_module>
ElasticDictionary match="/b*"
</IfModule>
Use site ${name} {port}
"""


def dump(server):
    done = subprocess.run([*sanitizer.httpd(server.root).split(), "-f", server.conf, "-t", "-D",
                           "DUMP_ELASTIC"], capture_output=True, text=True, timeout=60, check=True)
    return [[line.partition(": ")[::2] for line in block.splitlines()]
            for block in done.stdout.split("\n\n")]


def test_what_is_in_force_can_be_read(httpd):
    server = httpd("", start=False, modules=["macro"])
    server.configure(CONFIG)
    (server.root / "site.dict").write_bytes(b"dictionary")
    (server.root / "dictionaries").mkdir()
    whole, main, site, directives = dump(server)
    url = "/.well-known/elastic-dictionary/" + hashlib.sha256(b"dictionary").hexdigest()[:32]
    whole = dict(whole)
    assert whole["ElasticVersion"].count(".") >= 1
    assert whole["ServerRoot"] == str(server.root)
    assert whole["RunDirectory"].rstrip("/") == f"{server.root}/run"
    if env.IS_ROOT:
        user = env.child_user()
        assert whole["User"].split(" ")[1:] == [str(user.pw_uid), str(user.pw_gid)]
    assert whole["ElasticDictionaryStore"] == f"{server.root}/dictionaries\t{8 << 20}"
    first = f"{server.root}/site.dict\t{url}\t/*\tdocument\ta.example b.example:8443"
    assert main[0] == ("VirtualHost", "main")
    assert dict(main).items() >= {
        "ServerName": "localhost", "DocumentRoot": str(server.docs), "Elastic": "On",
        "ElasticLevel": "gzip 2 5", "ElasticDictionary": "/a*\tstyle script\tv 1",
        "ElasticDictionaryLink": "/dict", "ElasticDictionaryFile": first}.items()
    assert site[0] == ("VirtualHost", f"127.0.0.1:{server.port}")
    assert dict(site).items() >= {
        "ServerName": "www.example", "ServerPort": "8443", "ServerAlias": "other.example",
        "ServerAliasPattern": "*.pattern.example", "DocumentRoot": str(server.docs),
        "Elastic": "Off", "ElasticLevel": "gzip 2 5", "ElasticDictionaryLink": "/dict"}.items()
    assert [value for key, value in site if key == "ElasticDictionaryFile"] == [
        first, f"{server.root}/site.dict\t{url}\t/a/*\t\t"]
    found = [value.split("\t") for key, value in directives
             if key == "Directive" and "ElasticPoolMemory" not in value]  # the kit's, for prefork
    assert [text for _, sections, text in found if not sections] == [
        "Elastic On", "ElasticCodings gzip", "ElasticLevel gzip 2 5",
        f"ElasticDictionaryStore {server.root}/dictionaries 8M",
        f'ElasticDictionaryFile {server.root}/site.dict host="a.example b.example:8443"',
        "ElasticDictionaryLink /dict",
        'ElasticDictionary match="/a*" match-dest="style script" id="v 1"']
    assert [row[1:] for row in found if row[1]] == [
        [f"<VirtualHost 127.0.0.1:{server.port}>", "Elastic Off"],
        [f'<VirtualHost 127.0.0.1:{server.port}> <Location "/a b">',
         "ElasticDictionaryFile site.dict match=/a/*"]]
    assert found[0][0].startswith(f"{server.conf}:") and os.path.isfile(server.conf)


def test_nothing_is_said_unless_it_is_asked(httpd):
    server = httpd("Elastic On", start=False)
    ok, said = server.configtest()
    assert ok and "VirtualHost" not in said
    assert not any(key == "ElasticDictionaryFile" for block in dump(server) for key, _ in block)
