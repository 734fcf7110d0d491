class Trouble(Exception):
    """The whole run must stop; the text says why."""
