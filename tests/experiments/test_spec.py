from collections import Counter
from functools import cache

import numpy as np
import pytest

from symbreak.experiments import StudySpec
from symbreak.experiments._study import BUILT_IN

MINIMAL = 'problems = ["sinc"]\nmethods = ["DE", "DE-SB"]\n'


built_in = cache(StudySpec.load)


def runs(text, **options):
    return list(StudySpec.parse(text, **options).runs())


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_studies_are_valid(name):
    spec = built_in(name)
    assert spec.name == name
    assert spec.n_runs == sum(1 for _ in spec.runs())


def test_the_paper_study_is_the_papers():
    spec = built_in("paper")
    assert len(spec.problems) == 11
    assert spec.repetitions == 50
    assert spec.n_runs == 50 * (11 * 6 + 3 * 2)
    brute_force = {problem for problem, method in spec.pairs() if method.endswith("BF")}
    assert brute_force == {"syn5", "sinc", "inc-sinc"}
    assert spec.data == "fixed"


def test_every_run_has_its_own_key_and_seed():
    every = runs(MINIMAL + "repetitions = 20")
    assert [run.repetition for run in every[:6]] == [0, 0, 1, 1, 2, 2]
    assert len({run.key for run in every}) == len({run.seed for run in every}) == 40
    assert {run.data_seed for run in every} == {0}


@pytest.mark.parametrize("n", [2, 3, 5, 72, 1000])
def test_shards_are_disjoint_complete_and_of_equal_size(n):
    spec = built_in("smoke")
    shards = [[run.key for run in spec.runs((i, n))] for i in range(1, n + 1)]
    keys = [run.key for run in spec.runs()]
    assert sorted(key for shard in shards for key in shard) == sorted(keys)
    assert {len(shard) for shard in shards} <= {len(keys) // n, len(keys) // n + 1}
    assert all(shard == [key for key in keys if key in shard] for shard in shards)


def test_no_shard_has_all_runs_of_a_method_or_a_problem():
    """Though their number is that of the methods, or of all pairs of problem and method."""
    text = 'problems = ["syn5", "sinc"]\nmethods = ["DE", "DE-SB", "CMA-ES"]\nrepetitions = 50'
    spec = StudySpec.parse(text, try_runs=False)
    for n in (2, 3, 6):
        for i in range(1, n + 1):
            runs = list(spec.runs((i, n)))
            assert len(runs) == 300 // n
            for name in ("method", "problem"):
                counts = Counter(getattr(run, name) for run in runs)
                assert len(counts) == len(getattr(spec, f"{name}s"))
                assert max(counts.values()) < 2 * min(counts.values())


def test_the_division_into_shards_is_the_same_for_ever():
    """Tasks of a job array need not agree on anything but i and n; repetitions may be added."""
    text = 'problems = ["syn5", "sinc"]\nmethods = ["DE", "DE-SB"]\nrepetitions = 3'
    spec, longer = (
        StudySpec.parse(t, try_runs=False)
        for t in (text, text.replace("3", "9") + "\nseed = 5\ndata_seed = 6")
    )
    for i in (1, 2, 3):
        places = [(run.problem, run.method, run.repetition) for run in spec.runs((i, 3))]
        more = [(run.problem, run.method, run.repetition) for run in longer.runs((i, 3))]
        assert places == [place for place in more if place[2] < 3]
    first = [(run.problem, run.method) for run in spec.runs((1, 4))]
    assert first == [("syn5", "DE"), ("sinc", "DE"), ("sinc", "DE-SB")]


@pytest.mark.parametrize(
    "change",
    [
        "seed = 1",
        "data_seed = 1",
        'data = "redrawn"',
        "[budgets]\nsinc = 5000",
        "[method.DE]\nF = 0.6",
        "[method.DE]\npopulation_size = 30",
        '[problem.sinc]\nrescale = "radius"',
        "[problem.sinc]\nhidden = [4]",
        "[problem.sinc.population_size]\nDE = 30",
    ],
)
def test_whatever_changes_a_result_changes_the_key(change):
    assert runs(MINIMAL)[0].key != runs(MINIMAL + change)[0].key


def test_what_changes_no_result_changes_no_key():
    keys = [run.key for run in runs(MINIMAL + "repetitions = 2")]
    more = runs(
        'name = "other"\nproblems = ["syn5", "sinc"]\nmethods = ["CMA-ES", "DE-SB", "DE"]\n'
        "repetitions = 5"
    )
    assert set(keys) <= {run.key for run in more}


def test_settings_reach_the_run():
    text = MINIMAL + (
        "[budgets]\nsinc = 5000\n[method.DE]\nF = 0.7\n"
        '[problem.sinc]\nhidden = [4, 2]\nrescale = "radius"\nactivation = "sin"\n'
        "[problem.sinc.population_size]\nDE = 30\n"
    )
    de, de_sb = (run.start() for run in runs(text))
    assert de.max_evaluations == 5000
    assert de._running[0].optimizer.F == 0.7
    assert de_sb._running[0].optimizer.F == 0.5
    assert str(de.objective.topology) == "1-4-2-1 sin"
    assert de.objective.problem.rescale == "radius"
    assert de._running[0].optimizer.population_size == 30


def test_fixed_data_are_shared_and_redrawn_ones_differ():
    def data(mode):
        return [run.load_problem().train.X for run in runs(MINIMAL + f"{mode}\nrepetitions = 2")]

    fixed = data('data = "fixed"')
    assert all(np.array_equal(fixed[0], X) for X in fixed)
    a0, b0, a1, b1 = data('data = "redrawn"')
    assert np.array_equal(a0, b0)  # methods of a repetition see the same data
    assert np.array_equal(a1, b1)
    assert not np.array_equal(a0, a1)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{a:.6f},{b:.6f},{np.sin(a + b):.6f}" for a, b in rng.normal(size=(60, 2))]
    (tmp_path / "mine.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")
    return tmp_path


DATA_FILE = (
    'problems = ["mine"]\nmethods = ["DE-SB"]\n[data_file.mine]\nfile = "mine.csv"\n'
    'targets = ["y"]\nhidden = [3]\n'
)


def test_a_data_file_becomes_a_problem(table):
    (run,) = runs(DATA_FILE + "test = 0.25\nmax_evaluations = 4000", folder=table)
    problem = run.load_problem()
    assert problem.name == "mine"
    assert str(problem.topology) == "2-3-1"
    assert (len(problem.train), len(problem.test), problem.validation) == (45, 15, None)
    assert run.max_evaluations == 4000


def test_the_key_of_a_data_file_is_what_it_says_not_where_it_is(table, tmp_path_factory):
    (here,) = runs(DATA_FILE, folder=table)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "mine.csv").write_text((table / "mine.csv").read_text())
    (there,) = runs(DATA_FILE, folder=elsewhere)
    assert here.key == there.key
    (table / "mine.csv").write_text((table / "mine.csv").read_text() + "1,2,3\n")
    (changed,) = runs(DATA_FILE, folder=table)
    assert here.key != changed.key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("problems = [", "not valid TOML"),
        ("", "problems must be a list of names, got None"),
        ('problems = "sinc"', "problems must be a list of names, got 'sinc'"),
        ('problems = ["snic"]\nmethods = ["DE"]', "unknown problem 'snic'. Did you mean 'sinc'"),
        ('problems = ["sinc"]\nmethods = ["DE-BS"]', "unknown method 'DE-BS'. Did you mean 'DE-SB"),
        (MINIMAL + "repetitons = 2", "the study: unknown key 'repetitons'. Did you mean 'repet"),
        (MINIMAL + "repetitions = 0", "repetitions must be an integer of at least 1, got 0"),
        (MINIMAL + 'seed = "x"', "seed must be an integer"),
        (MINIMAL + 'data = "fresh"', "unknown data 'fresh'"),
        (MINIMAL + "budgets = 5", "budgets must be a table"),
        (MINIMAL + "[budgets]\nsync = 5000", r"\[budgets\]: unknown key 'sync'. Did you mean 'sin"),
        (MINIMAL + "[budgets]\nsinc = -1", r"\[budgets\]: sinc must be an integer"),
        (MINIMAL + "[budgets]\nsinc = 10", "problem sinc with method DE: max_evaluations"),
        (MINIMAL + "[method.DE]\nf = 0.5", r"\[method.DE\]: unknown key 'f'. Did you mean 'F'"),
        (MINIMAL + "[method.DE]\nF = 9", "problem sinc with method DE: F must be a finite number"),
        (MINIMAL + "[method.CMA-ES]\nsigma = 1", r"\[method\]: unknown key 'CMA-ES'"),
        (MINIMAL + '[method.DE]\nproblems = ["syn5"]', r"\[method.DE\]: unknown problem 'syn5'"),
        (MINIMAL + "[problem.sinc]\nrescal = 1", r"\[problem.sinc\]: unknown key 'rescal'"),
        (MINIMAL + '[problem.sinc]\nrescale = "no"', "unknown rescale 'no'"),
        (MINIMAL + "[problem.sinc]\nhidden = []", "at least three layer sizes"),
        (MINIMAL + "[problem.sinc]\nhidden = 5", r"hidden must be a list of layer sizes"),
        (MINIMAL + "[problem.sinc]\npopulation_size = 5", "population_size must be a table"),
        (
            MINIMAL + "[problem.sinc.population_size]\nDE = 2",
            "population_size of DE must be an integer",
        ),
        ('problems = ["two-circles"]\nmethods = ["DE-SB-BF"]', "1,179,648 replicas"),
        (MINIMAL + '[data_file.sinc]\nfile = "x.csv"', "has a problem of that name already"),
        (DATA_FILE, r"\[data_file.mine\]: there is no data file 'mine.csv'"),
        (MINIMAL + '[data_file.m]\nfile = "x.csv"', r"\[data_file\]: unknown key 'm'"),
        (
            'data = "redrawn"\n' + DATA_FILE,
            r'\[data_file.mine\]: data = "redrawn" divides .* give validation or test, or',
        ),
        (MINIMAL + "repetitions = 1_000_000_000_000", "a study has at most 10,000,000 runs"),
        (MINIMAL + "data_seed = 1208925819614629174706176", "data_seed must be below 2.63"),
        (MINIMAL + "x = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        (MINIMAL + "[budgets]\nsinc = 10000000000000000000000", "at most 1e.15 evaluations"),
        (MINIMAL + "[problem.sinc.population_size]\nPSO = 30", "unknown key 'PSO'"),
        (MINIMAL + '[problem.sinc]\nactivation = "rely"', "unknown activation 'rely'"),
        (DATA_FILE + "colour = 1", r"\[data_file.mine\]: unknown key 'colour'"),
    ],
)
def test_a_bad_study_is_refused_with_table_key_and_nearest_name(text, message):
    with pytest.raises(ValueError, match=message):
        StudySpec.parse(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('task = "classification"\ntargets = ["b", "y"]', "one target"),
        ('targets = "ab"', "targets must be a list of columns"),
        ('targets = ["z"]', "unknown column of mine.csv 'z'"),
        ("test = 3", "test must be a finite number in"),
    ],
)
def test_a_bad_data_file_is_refused_in_words(table, change, message):
    text = DATA_FILE.replace('targets = ["y"]\n', "") if "targets" in change else DATA_FILE
    with pytest.raises(ValueError, match=message):
        StudySpec.parse(text + change, folder=table)


@pytest.mark.parametrize("source", [".", "quik"])
def test_what_is_no_study_file_is_refused_with_the_built_in_ones(source):
    with pytest.raises(ValueError, match=f"no study file '{source}'; give a TOML file .* smoke,"):
        StudySpec.load(source)


def test_rows_of_a_data_file_are_divided_anew_where_data_are_redrawn(table):
    text = 'data = "redrawn"\nrepetitions = 2\n' + DATA_FILE
    for share in ("validation = 0.25", "test = 0.25"):
        first, second = runs(text + share, folder=table)
        assert set(map(tuple, first.load_problem().train.X)) != set(
            map(tuple, second.load_problem().train.X)
        )


MIXED = """
problems = ["syn5", "mine"]
methods = ["DE", "DE-SB"]
repetitions = 2
budgets = { syn5 = 400, mine = 500 }
problem.syn5.hidden = [2]
method.DE.F = 0.7
data_file.mine.file = "mine.csv"
"""


def test_a_part_of_a_study_has_the_runs_and_tables_that_it_has_in_the_whole(table):
    whole = {run.key: (run.problem, run.method) for run in built_in("paper").runs()}
    part = StudySpec.load("paper", problems=["sinc", "sinc2d"], methods=["DE-SB", "DE-SB-BF"])
    found = {run.key: (run.problem, run.method) for run in part.runs()}
    assert found.items() <= whole.items()
    assert set(found.values()) == {("sinc", "DE-SB"), ("sinc", "DE-SB-BF"), ("sinc2d", "DE-SB")}
    again = StudySpec.parse(part.text, name="paper")  # as a store keeps it
    assert list(again.runs()) == list(part.runs())
    (table / "a.toml").write_text(MIXED)
    part = StudySpec.load(table / "a.toml", problems=["mine"], methods=["DE"])
    assert (part.problems, part.methods, part.n_runs) == (("mine",), ("DE",), 2)
    assert part.method_settings == {"DE": {"F": 0.7}}
    keys = [run.key for run in StudySpec.load(table / "a.toml").runs()]
    assert all(run.key in keys for run in part.runs())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"problems": ["sink"]}, "unknown problem 'sink'.*'sinc'.*It must be one of the study's"),
        ({"methods": ["auto"]}, "unknown method 'auto'.*one of the study's"),
        ({"problems": ["digits"], "methods": ["DE-SB-BF"]}, "none of these methods runs on any"),
    ],
)
def test_a_part_that_a_study_does_not_have_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        StudySpec.load("paper", **options)
