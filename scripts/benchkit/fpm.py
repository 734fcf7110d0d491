"""A real php-fpm with dynamic pages, all different, and the configuration lines for a server in
front of it."""

from benchkit import server, tools, web

PAGE_BYTES = 120 * 1024
CHILDREN = 8  # more than the server's CPU can run; fewer than would exhaust its memory
FOLDER = "fpm"  # in the run's work directory

CONFIGURATION = """
[global]
daemonize = no
error_log = {folder}/fpm.log
[www]
{user}
listen = {socket}
listen.mode = 0666
listen.backlog = 4096
pm = static
pm.max_children = {children}
; Else a script is compiled for each request until its file is two seconds old.
php_admin_value[opcache.file_update_protection] = 0
"""

# A page like a template engine's: some of many pieces, each with figures of its own, in an order
# that no other request gets. The figures are few, so that it compresses like a page. ?bytes=N is
# its size; ?work=N escapes each piece that many times, like a page's variables; ?seed=N makes the
# same page each time.
SCRIPT = """<?php
$pieces = include __DIR__ . '/pieces.php';
$last = count($pieces) - 1;
$wanted = (int) ($_GET['bytes'] ?? {bytes});
$work = (int) ($_GET['work'] ?? 0);
if (isset($_GET['seed'])) {{
    mt_srand((int) $_GET['seed']);
}}
ob_start(null, 8192);
printf('<!DOCTYPE html><html><head><title>%08x%08x</title></head><body>', mt_rand(), mt_rand());
for ($length = 100; $length < $wanted; ) {{
    $piece = $pieces[mt_rand(0, $last)];
    for ($time = 0; $time < $work; $time++) {{
        htmlspecialchars($piece);
    }}
    echo '<div id="', mt_rand(), '">', $piece, '</div>', "\\n";
    $length += strlen($piece) + 25;
}}
echo '</body></html>';
"""

SNIPPET = """
<FilesMatch "\\.php$">
    SetHandler "proxy:unix:{socket}|fcgi://localhost"
</FilesMatch>
ProxyTimeout 60
"""

MODULES = ("proxy", "proxy_fcgi", "proxy_http")  # of an httpd in front of an application

NGINX = """
        location ~ \\.php$ {{
            fastcgi_pass unix:{socket};
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_buffers 32 8k;
        }}
"""


def socket_of(run):
    return run.work / FOLDER / "fpm.sock"


def start(run, site):
    pieces, origin = web.fragments(run)
    run.add_corpus("pieces of the dynamic pages", pieces, origin)
    literals = ",\n".join(map(php_string, pieces))
    (site / "pieces.php").write_text(f"<?php\nreturn [\n{literals}\n];\n", encoding="utf-8")
    (site / "page.php").write_text(SCRIPT.format(bytes=PAGE_BYTES), encoding="ascii")
    folder = run.folder(FOLDER)
    folder.chmod(0o755)
    configuration, socket = folder / "fpm.conf", socket_of(run)
    configuration.write_text(CONFIGURATION.format(
        folder=folder, socket=socket, children=CHILDREN, user=server.user_line("user = {name}")),
                             encoding="utf-8")
    # Without the system's php.ini; opcache keeps the pieces in memory.
    return run.start_until(
        lambda _: socket.exists(),
        [tools.find("php-fpm"), "--nodaemonize", "--fpm-config", str(configuration)],
        folder / "output.log", server.PATIENCE).pid


def php_string(data):
    text = data.decode("utf-8", "replace")
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
