import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the hub's settings have it; numpy reads it once
