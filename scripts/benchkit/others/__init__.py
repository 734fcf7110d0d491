"""Servers of other projects, private ones of a run, each with the compression of its snippet.

files      those that serve files: lighttpd, h2o, Caddy
proxies    those in front of an httpd: HAProxy, Varnish
"""
