"""Data files: every dialect read right, everything else refused in words."""

import datetime
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symbreak.problems import _tables, _text, read_table

EXPECTED = np.array([[1.5, 2, -3e-5], [4, 5.25, 6]])


def written(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "a,b,c\n1.5,2,-3e-5\n4,5.25,6\n",
        "a, b, c\r\n1.5, 2, -3e-5\r\n4, 5.25, 6",
        "a;b;c\n1.5;2;-3e-5\n4;5.25;6\n",
        "a;b;c\n1,5;2;-3e-5\n4;5,25;6\n",
        "a|b|c\n1.5|2|-3e-5\n4|5.25|6\n",
        '"a","b","c"\n"1.5",2,"-3e-5"\n"4","5.25",6\n',
        "\n\na,b,c\n\n1.5,2,-3e-5\n  \n,,\n4,5.25,6\n\n",
        "\ufeffa,b,c\n1.5,2,-3e-5\n4,5.25,6\n",
        "a;b;c\n1,5;2;-3e-5\n4;5,25;6\n".encode("utf-16"),
        "a,b,c\r1.5,2,-3e-5\r4,5.25,6\r",
        "  a    b  c  \n  1.5  2  -3e-5\n 4.0   5.25  6  \n",
        "a b\tc\r\n1,5 \t 2\t-3e-5 \r\n\r\n4 5,25    6\r\n",
        '"a" b "c"\n1.5 "2" -3e-5\n4 5.25 6',
        "\n# Foo, on a day; a 'quote\"\r\n\r\n#\r\na;b;c\r\n1,5;2;-3e-5\r\n4;5,25;6\r\n",
        "# made of parts, Foo, 2020\na,b,c\n1.5,2,-3e-5\n4,5.25,6\n",
        "sep=;\na;b;c\n1.5;2;-3e-5\n4;5.25;6\n",
        "\ufeffSEP=\t\r\na\tb\tc\r\n1,5\t2\t-3e-5\r\n4\t5,25\t6\r\n",
        '"sep=,"\n# Foo\na,b,c\n1.5,2,-3e-5\n4,5.25,6\n',
    ],
)
def test_every_dialect_gives_the_same_table(tmp_path, content):
    table = read_table(written(tmp_path, content))
    assert table.names == ("a", "b", "c")
    assert table.named
    assert np.array_equal(table.numbers(table.names), EXPECTED)
    assert table.numbers(["c", "a"])[1].tolist() == [6, 4]


def test_all_formats_give_the_same_table(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = dict(zip("abc", EXPECTED.T, strict=True))
    np.savez(tmp_path / "a.npz", **columns)
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    text = "a,b,c\n1.5,2,-3e-5\n4,5.25,6\n"
    (tmp_path / "a.npz").rename(tmp_path / "a.NPZ")  # as cameras and loggers write names
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "a.TSV.GZ").write_bytes(gzip.compress(text.replace(",", "\t").encode()))
    (tmp_path / "a.dat").write_text(text)
    for suffix in ("NPZ", "parquet", "csv.gz", "TSV.GZ", "dat"):
        table = read_table(tmp_path / f"a.{suffix}")
        assert table.names == ("a", "b", "c")
        assert table.targets == ("c",)
        assert np.array_equal(table.numbers(table.names), EXPECTED), suffix


@pytest.mark.parametrize(
    ("content", "form", "row"),
    [
        ("1.5 2 3\n4 5 6\n", "separated by blanks, no header", ["1.5", "2", "3"]),
        ("1,5 2,5\n3,5 4,5\n", "by blanks, decimal comma, no header", ["1,5", "2,5"]),
        ("a; b\n1; 2\n3; 4\n", "separated by ';'", ["1", "2"]),
        ("a long\tb\n1\t2\n3\t4\n", "separated by tabs", ["1", "2"]),
        ("body mass\n1.5\n2\n", "text, a single column", ["1.5"]),
        ("name tag\tvalue\nsensor 12\t5\nsensor 13\t6\n", "tabs", ["sensor 12", "5"]),
        ("two words,1.5\nwords two,2.5\n", "by ',', no header", ["two words", "1.5"]),
        ("5.1,3.5,setosa\n4.9,3.0,virginica\n", "no header", ["5.1", "3.5", "setosa"]),
        ("place,2019,2020\n1,3,4\n2,4,5\n", "by ','", ["1", "3", "4"]),
        ("True,1,2\nFalse,2,3\n", "no header", ["True", "1", "2"]),
        ("# one\n\n# two\n1,2\n", "no header, 2 lines of comments skipped", ["1", "2"]),
        ("# one\n#id,b\n1,2\n", "names in a comment, 1 line of comments skipped", ["1", "2"]),
        ("sep=;\na;b\n1;2\n", "by ';'", ["1", "2"]),
    ],
)
def test_delimiter_and_header_are_recognised_and_told(tmp_path, content, form, row):
    table = read_table(written(tmp_path, content))
    assert table.format.endswith(form)
    assert table.named == ("no header" not in form)
    assert [table.labels(name)[0] for name in table.names] == row


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("#id,b\n1,2\n3,4\n", ("id", "b")),
        ("# Foo\n# a b\n1.5e+00 2e+00\n3e-05 4e+00\n", ("a", "b")),  # as numpy.savetxt writes
        ("#place\tstart\nchr1\t5\nchr2\t6\n", ("place", "start")),
        ("# a,b\nc,d\n1,2\n", ("c", "d")),
        ("# 1,2\n3,4\n", ("x1", "x2")),
        ("# a,b,b\n1,2\n", ("x1", "x2")),
        ("# only one\n5\n6\n", ("x1",)),
    ],
)
def test_the_last_comment_may_name_the_columns(tmp_path, content, names):
    table = read_table(written(tmp_path, content))
    assert table.names == names
    bare = read_table(written(tmp_path, content), header=False)
    assert bare.names == tuple(f"x{i + 1}" for i in range(len(names)))


@pytest.mark.parametrize("missing", ["NA", "", "?"])
def test_a_missing_value_in_the_first_line_names_no_column(tmp_path, missing):
    table = read_table(written(tmp_path, f"5.1,{missing},3.5\n0.5,0,0.25\n1.5,1,1.25\n"))
    assert table.names == ("x1", "x2", "x3")
    counted = read_table(written(tmp_path, f"{missing},a,b\n0,1,2\n1,3,4\n"))
    assert counted.names[1:] == ("a", "b")
    for line in (f"5,{missing},3\n1,0,2\n1,1,2\n", "3,blue\n4,red\n5,red\n"):
        path = written(tmp_path, line)
        with pytest.raises(ValueError, match="first line may be names or a sample"):
            read_table(path)
        rows = {header: len(read_table(path, header=header).lines) for header in (False, True)}
        assert rows == {False: 3, True: 2}


def test_columns_of_booleans_are_numbers_as_in_parquet(tmp_path):
    """As pandas.get_dummies and to_csv write them."""
    table = read_table(written(tmp_path, "red,a,green\nTrue,1.5,false\nFalse,2, TRUE\n"))
    assert table.numbers(table.names).tolist() == [[1, 1.5, 0], [0, 2, 1]]
    assert table.labels("red").tolist() == ["True", "False"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("# one\n\nsep=,\na,b\n1,2\n\n3,x\n", r"column 'b' has text in row 7 \('x'\)"),
        ("a,b\n1,2\n3,\n5,NA\n", "column 'b' has missing values in row 3, row 4"),
        ("a,b\n1,2\n2020-01-31,3\n", r"'a' has dates or times in row 3 \('2020-01-31'\)"),
        ("a,b\n1,3\nfalse,4\n", "'a' has booleans in row 3"),
        ("a,b\nTrue,3\nyes,4\n", r"but column 'a' has text in row 3 \('yes'\)\. "),
        ("a,b\nTrue,3\n,4\n", r"but column 'a' has missing values in row 3\. "),
        ("a,b\nTrue,3\nFalse,x\n", r"but column 'b' has text in row 3 \('x'\)\. "),
        ("a,b\nx,1\ny,1\nz,1\nw,1\nv,1\n", r"text in row 2 \('x'\), .* \('z'\) and 2 more"),
        ("a,b\n1_000,2\n", r"numbers with separators in row 2 \('1_000'\)"),
        ('a,b\n"1,000",2\n', "numbers with separators"),
        ("a;b\n1,5;2.5\n", r"'b' has numbers with a decimal point in row 2 \('2.5'\)"),
        ("a;b\n2.5;1,5\n", r"'b' has numbers with a decimal comma in row 2 \('1,5'\)"),
        ("a,b\n1,1e999\n", "infinite numbers in row 2"),
        ("a,b\n1,2\n3,4,5\n", "row 3: expected 2 values, got 3"),
        ("a, b, \n1, 2, \n3, 4, \n", "'column 3' has missing values in row 2, row 3"),
        ("a b\n1 2\n3  4 5\n", "row 3: expected 2 values, got 3"),
        ("a,a\n1,2\n", "different names, got 'a' twice"),
        ("a,b\n", "at least one sample"),
        ("\n\n", "at least one sample, got nothing"),
        ("# a\n\n#b\n", "at least one sample, got only comments"),
        ('# a\n# b\na,b\n"1,2\n', "row 4: bad CSV"),
        ("# Gr\u00f6\u00dfe\na,b\n1,2\n".encode("latin-1"), "not text in UTF-8"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "is a gzip archive"),
        (b"PK\x03\x04", "a zip archive or a spreadsheet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", r"is an old workbook \(.xls\), .* rename or save it"),
        (b"a,b\n1,\0\n", "text in row 2"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_with_columns_and_rows(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        (table := read_table(written(tmp_path, content))).numbers(table.names)


def test_damaged_archives_are_refused_in_words(tmp_path):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    for content in (b"a,b\n1,2\n", whole[:-12], whole[:20] + b"x" + whole[21:], b""):
        with pytest.raises(ValueError, match=r"gzip archive|got nothing"):
            read_table(written(tmp_path, content, "a.csv.gz")).numbers(["a"])
    np.savez(tmp_path / "whole.npz", X=np.eye(50), y=np.ones(50))
    whole = (tmp_path / "whole.npz").read_bytes()
    for content in (b"", b"a,b\n", whole[:-30], whole[: len(whole) // 2]):
        with pytest.raises(ValueError, match=r"not an \.npz file"):
            read_table(written(tmp_path, content, "a.npz"))
    encrypted = bytearray(whole)
    for start in (b"PK\x01\x02", b"PK\x03\x04"):
        encrypted[whole.index(start) + (8 if start[2] == 1 else 6)] |= 1
    with pytest.raises(ValueError, match="encrypted"):
        read_table(written(tmp_path, bytes(encrypted), "a.npz"))


def npz(path, *, descr="<f8", shape=(2, 2), content=b""):
    header = io.BytesIO()
    facts = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, facts)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", header.getvalue() + content)
    return path


def test_an_archive_that_says_it_is_larger_than_it_is_allocates_nothing(tmp_path):
    for shape in ((10**9, 10), (2**62, 2**62), (-1, -4), (10**30,)):
        with pytest.raises(ValueError, match=r"not as large as it says|not an .npz"):
            read_table(npz(tmp_path / "a.npz", shape=shape, content=bytes(32)))
    with pytest.raises(ValueError, match="holds no text"):
        read_table(npz(tmp_path / "a.npz", descr="<U1", shape=(8,), content=b"\xff" * 32))
    for descr in ("|O", "<M8[s]", "<c16", "<U0", [("a", "<f8")]):
        with pytest.raises(ValueError, match=r"not an .npz file of plain arrays"):
            read_table(npz(tmp_path / "a.npz", descr=descr, content=bytes(32)))


def test_files_that_expand_without_end_are_refused(tmp_path, monkeypatch):
    for module in (_text, _tables):
        monkeypatch.setattr(module, "MAX_BYTES", 2**20)
    for line in (b"0", b"1,2\n", b"\n", b'"\n",'):
        bomb = written(tmp_path, gzip.compress(b"a,b\n" + line * 2**20), "a.csv.gz")
        assert bomb.stat().st_size < 20_000
        with pytest.raises(ValueError, match="holds more than"):
            read_table(bomb)
    with pytest.raises(ValueError, match="holds more than"):  # of memory, not of text
        read_table(written(tmp_path, b"1\n" * 2**16 + b"1\n"))
    long = read_table(written(tmp_path, b"a\nx\n" + b"y" * 2**17 + b"\nz\n"))
    with pytest.raises(ValueError, match="holds more than"):  # as labels of one length
        long.labels("a")
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((2**10, 2**8)), y=np.zeros(2**10))
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": np.zeros(2**18)}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 2**16
    for name in ("a.npz", "a.parquet"):  # whose sizes are summed before they are read
        with pytest.raises(ValueError, match="holds more than"):
            read_table(tmp_path / name)


@pytest.mark.parametrize("endless", [b"0," * 2**17, b'"x\n",' * 2**17, b"0" * 2**18])
def test_a_row_without_end_is_refused(tmp_path, endless):
    for content in (endless, b"a,b\n1,2\n" + endless):
        with pytest.raises(ValueError, match=r"columns, more|expected 2|bad CSV"):
            read_table(written(tmp_path, content), header=False)


def test_what_may_not_be_read_is_refused_in_words(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"/proc/self/mem cannot be read: Input/output error"):
        read_table("/proc/self/mem")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refuse)  # the system lets root in everywhere
    with pytest.raises(ValueError, match=r"a\.csv cannot be read: Permission denied"):
        read_table(tmp_path / "a.csv")


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16-le", "mac-roman", "utf-8"])
def test_a_text_file_may_be_in_any_encoding(tmp_path, encoding):
    path = written(tmp_path, "Gr\u00f6\u00dfe,b\n1.5,\u00fc\n2,b\n".encode(encoding))
    table = read_table(path, encoding=encoding)
    assert table.names == ("Gr\u00f6\u00dfe", "b")
    assert table.labels("b").tolist() == ["\u00fc", "b"]


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        (None, "not text in UTF-8; save it as UTF-8, or name its encoding, such as cp1252"),
        ("ascii", "not text in ascii"),
        ("rot13", "encoding must be one that Python knows, such as cp1252, got 'rot13'"),
        ("\0", "encoding must be one that Python knows"),
        ("idna", "not text in idna"),
    ],
)
def test_a_wrong_encoding_is_refused_with_a_way_out(tmp_path, encoding, message):
    path = written(tmp_path, "Gr\u00f6\u00dfe,b\n1,2\n".encode("cp1252"))
    with pytest.raises(ValueError, match=message):
        read_table(path, encoding=encoding)


def test_arrays_are_read_by_name_and_in_any_order(tmp_path):
    path, X = tmp_path / "a.npz", np.arange(12.0).reshape(4, 3)
    np.savez(path, X=np.asfortranarray(X), y=np.asfortranarray(X[:, :2]))
    table = read_table(path)
    assert table.names == ("x1", "x2", "x3", "y1", "y2")
    assert table.targets == ("y1", "y2")
    assert np.array_equal(table.numbers(["x1", "x2", "x3"]), X)
    kinds = np.array([b"red", "gr\u00fcn".encode()])
    np.savez(path, x=np.arange(2.0), kind=kinds, gap=np.array(["a", ""]))
    table = read_table(path)
    assert table.labels("kind").tolist() == ["red", "gr\u00fcn"]
    with pytest.raises(ValueError, match="missing values in row 2"):
        table.labels("gap")
    np.savez(path, bad=[b"red", b"\xff"])
    with pytest.raises(ValueError, match=r"plain arrays .*'utf-8' codec can't decode"):
        read_table(path)
    np.savez(path, X=np.zeros((2, 20_001)), y=np.zeros(2))
    with pytest.raises(ValueError, match=r"has 20,002 columns, more than 20,000"):
        read_table(path)


def test_a_spreadsheet_is_read_as_what_its_cells_hold(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["a", "kind", "day", "gap", None], [0.1, "red", datetime.date(2026, 1, 2), 1], []):
        sheet.append(row)
    sheet.append([-3, "7", datetime.date(2026, 1, 3), None, None])
    book.save(tmp_path / "a.xlsx")
    table = read_table(tmp_path / "a.xlsx")
    assert table.names == ("a", "kind", "day", "gap")
    assert table.format == "the first sheet"
    assert table.numbers(["a"]).tolist() == [[0.1], [-3]]
    assert table.labels("kind").tolist() == ["red", "7"]
    with pytest.raises(ValueError, match=r"'day' has dates or times in row 2 .* missing .* row 4"):
        table.numbers(["day", "gap"])
    content = (tmp_path / "a.xlsx").read_bytes()
    for damaged in (b"", b"a,b\n1,2\n", content[:-40], content[:400] + content[500:]):
        with pytest.raises(ValueError, match=r"not an \.xlsx file, or is damaged"):
            read_table(written(tmp_path, damaged, "b.xlsx"))


def test_parquet_types_are_numbers_labels_or_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import decimal

    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    columns = {
        "whole": [1, 2, 3],
        "part": [1, None, 3],
        "price": [decimal.Decimal("1.5")] * 3,
        "flag": [True, False, True],
        "day": [datetime.date(2020, 1, 1)] * 3,
        "city": ["Rom", "Ulm", "Rom"],
        "hole": ["Rom", None, "Rom"],
        "list": [[1], [2], [3]],
        " a.b ": [1, 2, 3],
        "": [2**60 + 1, None, 3],
    }
    pq.write_table(pa.table(columns), path)
    table = read_table(path)
    assert table.numbers(["whole", "price", "flag", "a.b"])[0].tolist() == [1, 1.5, 1, 1]
    assert table.labels("city").tolist() == ["Rom", "Ulm", "Rom"]
    assert table.labels("flag").tolist() == [True, False, True]
    for name, message in (
        ("part", "missing values in row 2"),
        ("day", "has dates or times"),
        ("city", "has text"),
        ("list", "has text"),
        ("column 10", "missing values in row 2"),
    ):
        with pytest.raises(ValueError, match=message):
            table.numbers([name])
    with pytest.raises(ValueError, match="missing values in row 2"):
        table.labels("hole")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="not a parquet file, or is damaged"):
        read_table(path)


def test_the_index_of_pandas_is_no_target(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1.0, 2, 3], "y": [4.0, 5, 6]}, index=[7, 8, 9])
    frame.to_parquet(tmp_path / "numbered.parquet")
    assert read_table(tmp_path / "numbered.parquet").names == ("a", "y")
    kinds = pd.Categorical(["u", None, "v"])
    dated = frame.assign(kind=kinds, day=pd.Timestamp("2024-01-02"))[["kind", "day", "y"]]
    dated.to_parquet(tmp_path / "levels.parquet")
    raw = read_table(tmp_path / "levels.parquet").raw(["kind", "day"])
    assert raw["kind"].tolist() == ["u", None, "v"]
    assert raw["day"].tolist() == ["2024-01-02 00:00:00"] * 3
    frame.rename_axis("hour").to_parquet(tmp_path / "named.parquet")
    table = read_table(tmp_path / "named.parquet")
    assert (table.names, table.targets) == (("hour", "a", "y"), ("y",))
    assert table.numbers(["hour"])[:, 0].tolist() == [7, 8, 9]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 3), min_size=1),
    st.sampled_from([(",", "."), (";", "."), (";", ","), ("\t", ","), ("|", "."), (" ", ",")]),
)
def test_numbers_come_back_to_the_last_bit(tmp_path, rows, dialect):
    delimiter, decimal = dialect
    lines = [delimiter.join(repr(x).replace(".", decimal) for x in row) for row in rows]
    table = read_table(written(tmp_path, "\n".join([delimiter.join("abc"), *lines])))
    assert table.numbers(table.names).tobytes() == np.array(rows, dtype=float).tobytes()
