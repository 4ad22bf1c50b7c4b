"""What tests of studies in other processes share."""

import time

from symbreak.experiments import Store, check_store

DEADLINE = 120


def results(path):
    """Key and fingerprint of every run, equal for equal results; nothing may be left over."""
    assert check_store(path) == []
    with Store(path, create=False) as store:
        assert store.count("checkpoint") == 0
        frame = store.frame()
        assert frame.key.is_unique
        return dict(zip(frame.key, frame.fingerprint, strict=True))


def wait_for(condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
