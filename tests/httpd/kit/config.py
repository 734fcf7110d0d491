"""Pieces of configuration, and a script that waits."""


def at(name, *lines):
    """The site once more below /`name`, with `lines` in force there."""
    return f"Alias /{name} {{docs}}\n<Location /{name}>\n" + "\n".join(lines) + "\n</Location>\n"


def vhost(name, *lines):
    """A virtual host of that name; the first one is for all other names, too."""
    return "<VirtualHost 127.0.0.1:{port}>\nServerName " + "\n".join([name, *lines]) \
        + "\n</VirtualHost>\n"


# A CGI script: text of as many bytes as the query says, the end when docs has no file `hold`.
HOLD = """
head('Content-Type: text/plain')
out(bodies.text(int(os.environ['QUERY_STRING'])))
while os.path.exists(os.environ['DOCUMENT_ROOT'] + '/hold'):
    time.sleep(0.02)
out('the end')
"""
