"""Estimates what mod_elastic would change for a site's own pages.

pages    the files of a folder, or of a site by its URL
now      the present configuration of httpd
sent     the present responses of the site
setups   each coding and level of mod_elastic: bytes and CPU time of a page, measured here
plans    the encoding of each page: today, and by mod_elastic on an idle and on a busy CPU
report   the page with the result
"""
