"""The web server: HTTP/1.1 in front of a WSGI application, one thread per worker, in which a slow client holds nothing."""
