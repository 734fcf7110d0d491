"""The parts of scripts/dictionary: each file uses those above it in this list. codeckit has
the libraries; precompresskit makes the dictionary's own precompressed files.

failure        what every command may raise
sources        URLs of the command line, a file, a sitemap, an access log -> which to visit
response       a response -> whether its body may be in a dictionary, or why not
visit          the pages, as a visitor without cookies gets them
candidates     pages -> those held back, and dictionaries to try
judge          dictionaries and the pages held back -> what a visit takes, and which is best
files          the folder of dictionaries: the new one, the previous ones
configuration  what to paste into httpd's configuration
report         the tables
arguments      options of commands
make, compare  a subcommand each
cli            the table of subcommands, the exit status
"""
