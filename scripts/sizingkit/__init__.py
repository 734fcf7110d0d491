"""What mod_elastic would change for a site's own pages.

pages    the files of a folder, or of a site by its URL
now      what httpd is configured to do today
sent     what the site sends today
setups   each coding and level that mod_elastic has: bytes and CPU time of a page, measured here
plans    what each page would get: today, and from mod_elastic on an idle and on a busy CPU
report   the page with the result
"""
