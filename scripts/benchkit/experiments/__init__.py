"""One module for each experiment; a hyphen in its name is an underscore here."""
