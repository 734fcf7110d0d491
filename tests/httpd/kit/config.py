"""Pieces of configuration."""


def at(name, *lines):
    """The site once more below /`name`, with `lines` in force there."""
    return f"Alias /{name} {{docs}}\n<Location /{name}>\n" + "\n".join(lines) + "\n</Location>\n"
