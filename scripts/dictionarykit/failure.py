"""What every command may raise."""


class Failed(Exception):
    """The command ends with the exit status 1; the text says why, and what to do."""


class Refused(Failed):
    """Why one URL is of no use."""
