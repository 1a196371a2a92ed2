"""The only package that imports psycopg: prepared statements, locks, the bounded cache, shared pieces of SQL, the replica."""
