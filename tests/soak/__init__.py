"""`make soak`: agents and people at work on a cluster while things break, and afterwards a look at whether anything was lost."""
