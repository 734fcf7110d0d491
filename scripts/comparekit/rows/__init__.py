"""All rows, chapter by chapter. A chapter has rows(), and SITE, where they go unless they say."""

from dataclasses import replace

from . import (conditional, configtest, decision, etags, faults, input, levels, merges, negotiation,
               notes, output, ranges, streams)

_CHAPTERS = (configtest, levels, merges, decision, negotiation, etags, notes, streams, conditional,
             ranges, output, input, faults)

ROWS = [replace(row, name=f"{chapter.__name__.rpartition('.')[2]}/{row.name}",
                site=row.site or chapter.SITE)
        for chapter in _CHAPTERS for row in chapter.rows()]
