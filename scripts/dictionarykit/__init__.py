"""The parts of scripts/dictionary: each file uses those above it in this list. codeckit has the
libraries.

failure        what every command may raise
sources        URLs of a file, a sitemap, links -> which to visit
robots         robots.txt
response       a response -> whether its body may be in a dictionary, or why not
exchange       one request and its response, within bounds
markup         what of a page's markup matters
fields         what a browser reads of fields
common         two visits to a page -> what may be in a dictionary
visit          the pages, as a visitor without cookies gets them
candidates     pages -> those held back, and dictionaries to try
pieces         what of a dictionary is on pages
judge          dictionaries and the pages held back -> what a reader gets, and which is best
report         the tables
files          files that are written as a whole
state          what is known of the sites, and its folder
versioned      scripts and styles with a version in their URL -> rules
making         pages are fetched, dictionaries tried, by a process without privileges
unprivileged   that process
configuration  what httpd is told
httpd          this machine's httpd: its configuration's place, its settings, its reload
timer          who renews
change         from one state to another, as a whole
stranger       a visitor whom httpd takes for one from elsewhere
selfcheck      the site as a browser gets it, decoded and compared
arguments      options of commands
status         a subcommand, and what httpd's status page shows
enable, renew, disable, check  a subcommand each
cli            the table of subcommands, the exit status
"""
