"""The parts of the experiment of that name: each file uses those above it in this list.

manual     a documentation site
wiki       a PHP application: dokuwiki, whose articles are the manual's sections
releases   packages of npm, and the release before each
made       dictionaries of a site's pages, by elastic-dictionary's own parts
cases      what is asked for: pages of visits, with their dictionaries
servers    the servers, and what a dictionary takes on one of them
walks      visits, page by page: bytes and CPU
levels     what each level of a difference gives, for which pages
browser    a real Chromium that walks
findings   the verdicts, the tables, the plot
"""
