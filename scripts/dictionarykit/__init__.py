"""The parts of scripts/dictionary: each file uses those above it in this list. codeckit has
the libraries; precompresskit makes the dictionary's own precompressed files.

failure        what every command may raise
sources        URLs of a file, a sitemap, an access log, links -> which to visit
response       a response -> whether its body may be in a dictionary, or why not
common         two visits to a page -> what may be in a dictionary
visit          the pages, as a visitor without cookies gets them
candidates     pages -> those held back, and dictionaries to try
judge          dictionaries and the pages held back -> what a visit takes, and which is best
report         the tables
versioned      scripts and styles with a version in their URL -> rules
making         all of this in a row, by a process without privileges
unprivileged   that process
files          the folder of dictionaries: the new one, the previous ones
httpd          this machine's httpd: its configuration's place, its reload
configuration  what httpd is told
selfcheck      the site as a browser gets it, decoded and compared
state          what is known of the sites that have a dictionary
inforce        files and configuration in force, or taken back
timer          who renews
arguments      options of commands
status         a subcommand, and what httpd's status page shows
fields         what a browser reads of fields and elements
browser        a page and its dictionary as Chromium asks for them
enable, renew, disable, compare, check  a subcommand each
cli            the table of subcommands, the exit status
"""
