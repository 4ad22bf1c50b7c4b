"""Studies and stores under awkward values."""

import dataclasses

import pytest

from symbreak.experiments import (
    RunSpec,
    Store,
    StudySpec,
    check_store,
    execute,
    export_csv,
    export_ioh,
    merge_stores,
    missing_runs,
    open_results,
    read_archive,
    relative_work,
    run_study,
    seconds_per_evaluation,
    write_archive,
)
from tests.awkward.values import complaints, each

RUN = RunSpec("syn5", "DE", 0, 100, 0, 0)
SPEC = StudySpec.parse('problems = ["syn5"]\nmethods = ["DE"]\n[budgets]\nsyn5 = 100')
METHODS = ("add_study", "has", "has_failed", "load_checkpoint", "delete_checkpoint", "count")
METHODS += ("differences", "arrays", "model")


def run_with(v, name):
    run = dataclasses.replace(RUN, **{name: v})
    return execute(run, max_time=0), run.key


def study_with(v, name):
    spec = dataclasses.replace(SPEC, **{name: v})
    return next(spec.runs()).key


def stored(call):
    """A call with an open store."""

    def opened(v):
        with Store("s.db") as store:
            return call(store, v)

    return opened


def of_store(v, name):
    return stored(lambda store, v: getattr(store, name)(v))(v)


CALLS = {
    **each("RunSpec({}=v)", [field.name for field in dataclasses.fields(RunSpec)], run_with),
    **each("StudySpec({}=v)", [field.name for field in dataclasses.fields(StudySpec)], study_with),
    "StudySpec.load(v)": StudySpec.load,
    "StudySpec.parse(v)": StudySpec.parse,
    "StudySpec.parse(name=v)": lambda v: StudySpec.parse(SPEC.text, name=v).n_runs,
    "StudySpec.parse(folder=v)": lambda v: StudySpec.parse(SPEC.text, folder=v).n_runs,
    "Store(v)": lambda v: Store(v).close(),
    **each("store.{}(v)", METHODS, of_store),
    "store.traces(v)": stored(lambda store, v: len(store.traces(v))),
    "store.add(v)": stored(lambda store, v: store.add(v, None)),
    "store.add(record=v)": stored(lambda store, v: store.add(RUN, v)),
    "store.add_failure(v)": stored(lambda store, v: store.add_failure(v, "t")),
    "store.add_failure(traceback=v)": stored(lambda store, v: store.add_failure(RUN, v)),
    "store.save_checkpoint(v)": stored(lambda store, v: store.save_checkpoint(v, {})),
    "store.save_checkpoint(state=v)": stored(lambda store, v: store.save_checkpoint("k", v)),
    "execute(v)": execute,
    **each(
        "execute({}=v)",
        ("checkpoint", "max_time"),
        lambda v, name: execute(RUN, **{name: v}) and None,
    ),
    "run_study(v)": lambda v: run_study(v, "s.db", workers=1),
    "run_study(store=v)": lambda v: run_study(SPEC, v, workers=1, shard=(2, 2)),
    **each(
        "run_study({}=v)",
        ("workers", "shard", "checkpoint_every", "retry_failed", "known", "on_run", "on_news"),
        lambda v, name: run_study(SPEC, "done.db", **{"workers": 1, name: v}),
    ),
    "run_study(imports=v)": lambda v: run_study(SPEC, "done.db", workers=1, imports=v),
    "run_study(executor=v)": lambda v: run_study(SPEC, "done.db", executor=v),
    "read_archive(v)": read_archive,
    "open_results(v)": lambda v: open_results(v).close(),
    "write_archive(v)": lambda v: write_archive(v, "archive"),
    "write_archive(folder=v)": stored(write_archive),
    "missing_runs(v)": stored(lambda store, v: list(missing_runs(v, store))),
    "missing_runs(store=v)": lambda v: list(missing_runs(SPEC, v)),
    "missing_runs(shard=v)": stored(lambda store, v: list(missing_runs(SPEC, store, shard=v))),
    "relative_work(v)": relative_work,
    "seconds_per_evaluation(v)": lambda v: seconds_per_evaluation(v, 0.001),
    "seconds_per_evaluation(at_least=v)": lambda v: seconds_per_evaluation(RUN, v),
    "check_store(v)": check_store,
    "merge_stores(v)": lambda v: merge_stores(v, ["done.db"]),
    "merge_stores(sources=v)": lambda v: merge_stores("m.db", v),
    "export_csv(v)": lambda v: export_csv(v, "csv"),
    "export_csv(folder=v)": stored(export_csv),
    "export_ioh(v)": lambda v: export_ioh(v, "ioh"),
    "export_ioh(folder=v)": stored(export_ioh),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("awkward")
    run_study(SPEC, path / "done.db", workers=1)
    return path


@pytest.mark.parametrize("name", CALLS)
def test_a_study_answers_awkward_values_in_words(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert complaints(CALLS[name]) == {}
