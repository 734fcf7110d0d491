"""WordPress with MariaDB in php-fpm: the site and its administration."""

import socket

import pytest

from application import Application, Rules, Visitor
from kit import env
from kit.process import Backend, accepts
from site_of import give, run

pytestmark = pytest.mark.debian

FOLDER = "usr/share/wordpress"
SETTINGS = """<?php
define('DB_NAME', 'site');
define('DB_USER', 'joe');
define('DB_PASSWORD', 'secret');
define('DB_HOST', 'localhost:{socket}');
define('WP_HOME', '{scheme}://' . $_SERVER['HTTP_HOST']);
define('WP_SITEURL', WP_HOME);
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {{
    define($name . '_KEY', "$name key");
    define($name . '_SALT', "$name salt");
}}
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
$table_prefix = 'wp_';
require_once ABSPATH . 'wp-settings.php';
"""
SQL = """CREATE DATABASE site;
CREATE USER joe@localhost IDENTIFIED BY 'secret';
GRANT ALL ON site.* TO joe@localhost;
"""
USER = {"user_name": "joe", "admin_password": "a long secret", "admin_password2": "a long secret",
        "pw_weak": "1", "admin_email": "joe@example.com", "weblog_title": "A site"}
RULES = Rules(
    most=40,
    skip=r"logout|_wpnonce|post-new|action=(?!lostpassword)|update|upgrade|export\.php"
         r"|customize|site-editor|site-health|replytocom|reauth|xmlrpc|wp-cron|install\.php",
    blur=(r'"time":"\d+"', r"_wpnonce=\w+", r'[nN]once\\?"\s?:\s?\\?"\w+',
          r'name="[\w-]*nonce[\w-]*" value="\w+"', r'createNonceMiddleware\( "\w+"',
          r'data-secret=\\?"\w+', r"[?]secret=\w+", r'"mailto:[^"]*">[^<]*',
          r' data-pw="[^"]*"', r"<kbd>\w+</kbd>",
          r"\d+ (second|min|hour)\w*", r"\d\d:\d\d(:\d\d)?"))


class Mariadb(Backend):
    """With a folder of its own, which nobody reaches but by its socket."""

    def __init__(self, folder):
        data, self.socket = folder / "data", str(folder / "sock")
        data.mkdir(parents=True)
        give(folder)
        user = [f"--user={env.child_user().pw_name}"] if env.IS_ROOT else []
        common = ["--no-defaults", f"--datadir={data}", *user]
        run("mariadb-install-db", *common, "--skip-test-db",
            "--auth-root-authentication-method=normal")
        (folder / "init.sql").write_text(SQL)
        super().__init__(
            ["/usr/sbin/mariadbd", *common, f"--socket={self.socket}", "--skip-networking",
             f"--pid-file={folder}/pid", f"--log-error={folder}/log", "--innodb-flush-method=fsync",
             "--innodb-flush-log-at-trx-commit=0", f"--init-file={folder}/init.sql"],
            lambda: accepts(socket.AF_UNIX, self.socket), (folder / "log").read_text)


class Wordpress(Application):
    def __init__(self, scheme):
        super().__init__("wordpress")
        self.database = Mariadb(self.root / "database")
        self.write(f"{FOLDER}/wp-config.php",
                   SETTINGS.format(socket=self.database.socket, scheme=scheme))
        self.start()

    def stop(self):
        self.database.stop()
        super().stop()


@pytest.fixture(scope="module")
def blog():
    made = Wordpress("http")
    yield made
    made.stop()


def test_wordpress(site, blog):
    """WordPress: every page, anonymous and logged in, and a comment written"""
    server = blog.serve(site, FOLDER)
    visitor = Visitor(server)
    # The first server installs it.
    if b"Already Installed" not in visitor.ask("/wp-admin/install.php").body:
        said = visitor.ask("/wp-admin/install.php?step=2", "gzip", form=USER)
        assert b"Success!" in said.body, said.body
    assert visitor.crawl(["/", "/?s=hello", "/?feed=rss2", "/wp-login.php"], RULES) > 20
    said = visitor.send("/wp-login.php", {"log": "joe", "pwd": USER["admin_password"]})
    assert said.status == 302, said
    text = f"A comment with {server.root}. " + "It is long. " * 300
    said = visitor.send("/?p=1", {"comment": text})
    assert said.status == 302, (said, said.body)
    assert text[:60].encode() in visitor.follow("/?p=1", "br")[1].body
    assert visitor.crawl(["/?p=1", "/wp-admin/"], RULES) == RULES.most
