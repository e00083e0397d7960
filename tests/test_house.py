"""The rules of the house, held over the syntax tree of every file."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("collectors", "streams", "warehouse", "pipelines", "infra")

# Room -> packages of ours that it may import besides its own.
MAY_IMPORT = {
    "collectors": (),
    "streams": ("collectors.contract",),
    "warehouse": ("collectors.contract", "streams.contract"),
    "pipelines": ("warehouse", "collectors.contract.errors", "collectors.contract.settings"),
    "infra": ROOMS,
}
# A library and the only room that may use it (infra and tests start things and may use any).
ONLY_IN = {
    "faust": "streams",
    "mode": "streams",
    "aiokafka": "streams",
    "duckdb": "warehouse",
    "dagster": "pipelines",
}


def files(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imports(path: Path) -> list[tuple[int, str]]:
    """(line, dotted module) for every import; `from a import b` gives `a.b` as well as what it stands in."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_left_and_only_at_contracts(room: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {module}"
        for path in files(room)
        for line, module in imports(path)
        if module.split(".")[0] in (*ROOMS, "tests")
        and not within(module, room)
        and not any(within(module, allowed) for allowed in MAY_IMPORT[room])
    ]
    assert wrong == []


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_with_one_room_stays_in_it(library: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {module}"
        for room in ROOMS
        if room not in (ONLY_IN[library], "infra")
        for path in files(room)
        for line, module in imports(path)
        if within(module, library)
    ]
    assert wrong == []


def test_consumers_are_made_only_where_the_house_says() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for room in ("collectors", "pipelines")
        for path in files(room)
        if any(module == "confluent_kafka.Consumer" for _, module in imports(path))
    ]
    assert wrong == []


def test_detectors_have_no_clock_no_kafka_and_no_log() -> None:
    banned = (
        "time",
        "datetime.datetime",
        "logging",
        "confluent_kafka",
        "faust",
        "aiokafka",
        "asyncio",
        "random",
    )
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {module}"
        for path in files("streams/detectors")
        for line, module in imports(path)
        if any(within(module, name) for name in banned)
    ]
    assert wrong == []


def test_package_files_hold_a_docstring_or_nothing() -> None:
    # `warehouse` has a public face: `from warehouse import connect`.
    wrong = []
    for room in (*ROOMS, "tests"):
        for path in (ROOT / room).rglob("__init__.py"):
            body = ast.parse(path.read_text()).body
            extra = [n for n in body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
            if extra and path.parent.name != "warehouse":
                wrong.append(str(path.relative_to(ROOT)))
    assert wrong == []


def test_every_folder_with_code_is_a_package() -> None:
    wrong = [
        str(path.parent.relative_to(ROOT))
        for room in (*ROOMS, "tests")
        for path in (ROOT / room).rglob("*.py")
        if not (path.parent / "__init__.py").exists()
    ]
    assert wrong == []


def test_every_public_function_and_class_says_what_it_is() -> None:
    wrong = []
    for room in ROOMS:
        for path in files(room):
            for node in ast.parse(path.read_text()).body:
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    continue
                if not node.name.startswith("_") and not ast.get_docstring(node):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}")
    assert wrong == []


def test_nothing_is_caught_and_dropped() -> None:
    wrong = []
    for room in ROOMS:
        for path in files(room):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ExceptHandler) and all(isinstance(s, ast.Pass) for s in node.body):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert wrong == []
