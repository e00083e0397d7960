"""A file read as it grows."""

from pathlib import Path

from collectors.tail import Position, Tail


def texts(tail: Tail, *, to_end: bool = False) -> list[tuple[int, bytes]]:
    return [(line.number, line.raw) for line in tail.read(to_end=to_end)]


def test_an_unfinished_line_waits_for_its_end(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"one\ntw")
    tail = Tail(file)
    assert texts(tail) == [(1, b"one")]
    assert texts(tail) == []
    with file.open("ab") as more:
        more.write(b"o\n\n")
    assert texts(tail) == [(2, b"two"), (3, b"")]


def test_the_end_of_the_file_may_end_the_line(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"one\ntwo")
    assert texts(Tail(file), to_end=True) == [(1, b"one"), (2, b"two")]


def test_a_kept_position_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"one\n")
    first = Tail(file)
    assert texts(first) == [(1, b"one")]
    with file.open("ab") as more:
        more.write(b"two\n")
    assert texts(Tail(file, first.position)) == [(2, b"two")]


def test_a_truncated_file_is_read_from_its_start(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"one\ntwo\n")
    tail = Tail(file)
    tail.read()
    file.write_bytes(b"new\n")
    assert texts(tail) == [(1, b"new")]


def test_a_file_truncated_and_grown_longer_is_known_by_its_head(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"one\n")
    tail = Tail(file)
    tail.read()
    file.write_bytes(b"new\nmore\n")
    assert texts(tail) == [(1, b"new"), (2, b"more")]


def test_the_rest_of_a_rotated_file_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"one\n")
    tail = Tail(file)
    tail.read()
    with file.open("ab") as more:
        more.write(b"two\nthr")
    file.rename(tmp_path / "f.1")
    assert texts(tail) == [(2, b"two")]
    file.write_bytes(b"new\n")
    assert texts(tail) == [(3, b"thr")]
    assert texts(tail) == [(1, b"new")]


def test_a_removed_file_gives_nothing_and_a_new_one_all(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"one\n")
    tail = Tail(file)
    tail.read()
    file.unlink()
    assert texts(tail) == []
    (tmp_path / "other").write_bytes(b"")  # keeps the inode number from being used again
    file.write_bytes(b"new\n")
    assert texts(tail) == [(1, b"new")]


def test_no_file_is_no_line(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "f")
    assert (texts(tail), tail.position) == ([], Position())


def test_a_line_without_end_comes_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"x" * (1 << 20) + b"y\nz\n")
    tail = Tail(file)
    assert texts(tail) == [(1, b"x" * (1 << 20))]
    assert texts(tail) == [(2, b"y"), (3, b"z")]


def test_a_kept_position_of_another_file_of_the_same_length_is_known_by_the_head(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"one\n")
    first = Tail(file)
    first.read()
    file.write_bytes(b"new\n")
    assert texts(Tail(file, first.position)) == [(1, b"new")]


def test_a_carriage_return_ends_a_piece_of_a_progress_bar(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"one\n  0%\r 50%\r100")
    tail = Tail(file, bars=True)
    assert texts(tail) == [(1, b"one"), (2, b"  0%\r 50%\r")]
    with file.open("ab") as more:
        more.write(b"%\n")
    assert [raw for _, raw in texts(tail)] == [b"100%"]
