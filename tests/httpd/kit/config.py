"""Pieces of configuration."""


def at(name, *lines):
    """The site once more below /`name`, with `lines` in force there."""
    return f"Alias /{name} {{docs}}\n<Location /{name}>\n" + "\n".join(lines) + "\n</Location>\n"


def vhost(name, *lines):
    """A virtual host of that name; the first one is for all other names, too."""
    return "<VirtualHost 127.0.0.1:{port}>\nServerName " + "\n".join([name, *lines]) \
        + "\n</VirtualHost>\n"
