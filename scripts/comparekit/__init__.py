"""Stock mod_deflate and mod_brotli beside ours: the same requests, and where the answers differ.

row       Row: a name, a request in short, the site it goes to, and what it looks at
sites     the configurations; a server of each for either side
facts     a response -> what is compared of it
rows      the rows themselves, a file for each chapter; decision registers the site `main`
expected  the differences that are meant, each with its reason
report    the table, for terminals and for docs/results/stock-and-ours.md

It uses tests/httpd/kit, which scripts/compare puts on the path.
"""
