#!/usr/bin/env python
"""The same commands as the console script `memoryhub`."""

from memoryhub.__main__ import main

if __name__ == "__main__":
    main()
