from resource import RUSAGE_SELF, getrusage

from memoryhub.server import frames


def leaf():
    """Its frame is larger than that of `faults_at`, so at some depth it is the first of a piece."""
    a = b = c = d = e = f = g = h = i = j = k = m = n = o = p = q = r = s = t = u = 0
    return a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u


def faults_at(depth):
    """How often the process got a page of memory during 500 calls at this depth."""
    if depth:
        return faults_at(depth - 1)
    before = getrusage(RUSAGE_SELF).ru_minflt
    for _ in range(500):
        leaf()
    return getrusage(RUSAGE_SELF).ru_minflt - before


def test_no_depth_of_calls_asks_for_memory_again_and_again():
    """Other threads of this process ask for some, once: the better of two rounds counts."""
    found = []
    frames.with_room(lambda: found.append(max(min(faults_at(depth), faults_at(depth)) for depth in range(400))))
    assert found[0] < 100
