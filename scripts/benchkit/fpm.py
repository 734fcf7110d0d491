"""A real php-fpm that writes dynamic pages: 120 KB each, no two alike."""

from benchkit import server, tools, web

PAGE_BYTES = 120 * 1024
CHILDREN = 8  # more than the server's one CPU can run; fewer than would exhaust its memory

CONFIGURATION = """
[global]
daemonize = no
error_log = {folder}/fpm.log
[www]
{user}
listen = {folder}/fpm.sock
listen.mode = 0666
listen.backlog = 4096
pm = static
pm.max_children = {children}
; Else a script is compiled for each request until its file is two seconds old.
php_admin_value[opcache.file_update_protection] = 0
"""

# A page as a template engine makes it: some pieces out of many, each with figures of its own, in
# an order that no other request sees. The figures are few, so that it compresses as pages do.
SCRIPT = """<?php
$pieces = include __DIR__ . '/pieces.php';
$last = count($pieces) - 1;
$wanted = (int) ($_GET['bytes'] ?? {bytes});
ob_start(null, 8192);
echo '<!DOCTYPE html><html><head><title>', bin2hex(random_bytes(8)), '</title></head><body>';
for ($length = 100; $length < $wanted; ) {{
    $piece = $pieces[mt_rand(0, $last)];
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

MODULES = ("proxy", "proxy_fcgi")  # what an httpd in front of it needs


class Fpm:
    """A php-fpm of the run, on the server's CPU; page.php goes into an httpd's site."""

    def __init__(self, run):
        self.run = run
        self.folder = run.folder("fpm")
        self.folder.chmod(0o755)
        self.socket = self.folder / "fpm.sock"
        self.snippet = SNIPPET.format(socket=self.socket)
        self.process = None

    def fill(self, site):
        """Puts the page's script and its pieces into a document root."""
        pieces = ",\n".join(php_string(piece) for piece in web.fragments(self.run))
        (site / "pieces.php").write_text(f"<?php\nreturn [\n{pieces}\n];\n", encoding="utf-8")
        (site / "page.php").write_text(SCRIPT.format(bytes=PAGE_BYTES), encoding="ascii")

    def start(self):
        configuration = self.folder / "fpm.conf"
        configuration.write_text(CONFIGURATION.format(
            folder=self.folder, children=CHILDREN, user=server.user_line("user = {}")),
            encoding="utf-8")
        log = self.folder / "output.log"
        # The system's php.ini is not this run's; opcache keeps the pieces in memory.
        self.process = self.run.start([tools.find("php-fpm"), "--nodaemonize", "--fpm-config",
                                       str(configuration)], log)
        tools.wait_for(lambda: self.socket.exists() or self.process.poll() is not None,
                       server.PATIENCE)
        if not self.socket.exists() or self.process.poll() is not None:
            raise tools.BenchError("php-fpm did not start: "
                                   + tools.last_line(log.read_text(errors="replace")))


def php_string(data):
    """A PHP literal of bytes, taken as ISO 8859-1 where they are no UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
