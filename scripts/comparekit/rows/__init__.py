"""All rows, chapter by chapter."""

from . import (conditional, configtest, decision, etags, faults, input, levels, merges, negotiation,
               notes, output, ranges, streams)

_CHAPTERS = (configtest, levels, merges, decision, negotiation, etags, notes, streams, conditional,
             ranges, output, input, faults)

ROWS = [row for chapter in _CHAPTERS for row in chapter.rows()]
