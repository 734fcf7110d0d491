"""The parts of scripts/dictionary. codeckit has the libraries."""
