"""What tests of studies in other processes share."""

import subprocess
import sys
import time

from symbreak.experiments import Store, StoreError, StudySpec, execute
from symbreak.experiments._store import check_store

DEADLINE = 300


def results(path):
    """Key and fingerprint of every run, equal for equal results; nothing may be left over."""
    assert check_store(path) == []
    with Store(path, create=False) as store:
        assert store.count("checkpoint") == 0
        frame = store.runs()
        assert frame.key.is_unique
        return dict(zip(frame.key, frame.fingerprint, strict=True))


def store_of(path, spec, wanted=lambda run: True, *, study=True):
    """A store with the runs of a study (a spec, or its text), done in this process."""
    spec = StudySpec.parse(spec, name="small") if isinstance(spec, str) else spec
    with Store(path) as store:
        if study:
            store.add_study(spec)
        for run in filter(wanted, spec.runs()):
            store.add(run, execute(run))
    return path


def wait_for(condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def start_study(study, store, *options, environment=None, folder=None):
    """A driver of a study, as a user starts it in a shell, in a folder."""
    command = [sys.executable, "-m", "symbreak", "study", str(study), "--store", str(store)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*command, *options],
        stdout=pipe,
        stderr=pipe,
        text=True,
        start_new_session=True,
        env=environment,
        cwd=folder,
    )


def finish(process, code=0):
    """What a process has printed, each stream on one line, if it ends with a code."""
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == code, err
    return " ".join(out.split()), " ".join(err.split())


def is_begun(store, n=1):
    """A function that says whether so many runs of a study are under way or done."""

    def ready():
        if not store.exists():
            return False
        try:
            with Store(store) as opened:
                return opened.count("run") + opened.count("checkpoint") >= n
        except StoreError:
            return False

    return ready
