"""`python -m memoryhub.client COMMAND`: the commands of the client where its script is not on the path."""

import sys

from memoryhub.client.commands import run

sys.exit(run(sys.argv[1:]))
