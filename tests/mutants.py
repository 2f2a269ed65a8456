"""Faults put into the sources, one at a time: do the tests see them? For work on the tests, that must not make them blind.

    python -m tests.mutants draw --seed 40 --count 40             # once: chooses faults and writes tests/mutants.json
    python -m tests.mutants run --record new.json                 # which of them the tests of this checkout find
    python -m tests.mutants run --revision 78da7f2 --survivors-of new.json --record old.json
    python -m tests.mutants compare old.json new.json             # status 1 if a fault is no longer found

A mutant is one changed line of one function. It is found again by the function's name and the line, so that a file may
move. The tests that look for it are the file of the same name, then those of the room, and then those of ``FURTHER``.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.same_output import link_package

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".json")
PARTS = ("hdl", "sim", "cli", "extras")

#: The tests of whole designs, by the beginning of the path that they look at.
FURTHER = {
    "hdl/codec/lossy": ["tests/verif/stream/stage/test_regression.py", "tests/verif/proofs/test_proofs.py"],
    "hdl/codec": ["tests/verif/stream/codec/test_regression.py"],
    "hdl/blocks": ["tests/verif/proofs/test_proofs.py", "tests/hdl/codec", "tests/hdl/axi"],
    "hdl/verilog": ["tests/hdl/verilog"],
    "hdl/spec": ["tests/hdl/codec", "tests/cli", "tests/verif/engine/test_regression.py"],
    "hdl": [
        "tests/verif/proofs/test_proofs.py",
        "tests/verif/engine/test_regression.py",
        "tests/verif/engine/test_latency.py",
    ],
    "sim": ["tests/cli", "tests/verif/stream/codec/test_regression.py"],
    "cli": ["tests/docs"],
}

#: Each kind of comparison or sum becomes another one.
_SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}


@dataclass(frozen=True)
class Mutant:
    """A line of a function before and after.

    ``file``
        Where it was when the list was drawn.
    ``function``
        The function's name with those of its classes.
    """

    file: str
    function: str
    before: str
    after: str


def main(argv: Sequence[str] | None = None) -> int:
    """Draws, runs or compares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    draw = commands.add_parser("draw")
    draw.add_argument("--seed", type=int, default=40)
    draw.add_argument("--count", type=int, default=40)
    run = commands.add_parser("run")
    run.add_argument("--revision", help="a revision of the history; by default this checkout as it stands")
    run.add_argument(
        "--record", type=Path, required=True, help="what was found; mutants in it are not tried again"
    )
    run.add_argument(
        "--survivors-of", type=Path, metavar="RECORD", help="tries only mutants that survived in this one"
    )
    run.add_argument("--timeout", type=float, default=900, help="seconds for the tests of one mutant")
    compare = commands.add_parser("compare")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    arguments = parser.parse_args(argv)
    if arguments.command == "draw":
        LIST.write_text(
            json.dumps([asdict(each) for each in drawn(arguments.seed, arguments.count)], indent=1) + "\n"
        )
        return 0
    if arguments.command == "run":
        return _run(arguments)
    before, after = (json.loads(path.read_text()) for path in (arguments.before, arguments.after))
    lost = [
        name for name, found in before.items() if found.startswith("killed") and after[name] == "survived"
    ]
    print("\n".join(f"no longer found: {name}" for name in lost) or "every fault that was found is found")
    return bool(lost)


def drawn(seed: int, count: int) -> list[Mutant]:
    """So many mutants of this checkout, evenly over the lines that can be changed."""
    files = [path for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))]
    found = [
        mutant for path in files for mutant in mutants_in(path.read_text(), path.relative_to(ROOT).as_posix())
    ]
    return random.Random(seed).sample(found, count)


def mutants_in(text: str, file: str) -> Iterator[Mutant]:
    """Every mutant of a file: one for each operator whose line says it once, and for each small number."""
    lines = text.splitlines()
    for function, node in _functions(ast.parse(text)):
        for each in ast.walk(node):
            change = _change(each, lines)
            if change is not None:
                number, after = change
                before = lines[number - 1].strip()
                # A line that stands several times in the function would not be found again.
                inside = [line.strip() for line in lines[node.lineno - 1 : node.end_lineno]]
                if inside.count(before) == 1:
                    yield Mutant(file, function, before, after.strip())


def _functions(tree: ast.AST, above: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            name = f"{above}{node.name}"
            if isinstance(node, ast.FunctionDef):
                yield name, node
            else:
                yield from _functions(node, f"{name}.")


def _change(node: ast.AST, lines: Sequence[str]) -> tuple[int, str] | None:
    """The number of the changed line and its new text."""
    if isinstance(node, ast.Constant) and type(node.value) is int and node.end_lineno == node.lineno:
        line = lines[node.lineno - 1]
        return node.lineno, f"{line[: node.col_offset]}{node.value + 1}{line[node.end_col_offset :]}"
    operator = (
        node.ops[0]
        if isinstance(node, ast.Compare)
        else node.op
        if isinstance(node, ast.BinOp | ast.BoolOp)
        else None
    )
    if operator is None or type(operator) not in _SWAPS:
        return None
    old, new = _SWAPS[type(operator)]
    line = lines[node.lineno - 1]
    if node.lineno != node.end_lineno or line.count(f" {old} ") != 1:
        return None
    return node.lineno, line.replace(f" {old} ", f" {new} ")


def _run(arguments: argparse.Namespace) -> int:
    record = json.loads(arguments.record.read_text()) if arguments.record.exists() else {}
    others = json.loads(arguments.survivors_of.read_text()) if arguments.survivors_of else None
    for row in json.loads(LIST.read_text()):
        each = Mutant(**row)
        name = f"{each.file}:{each.function}: {each.before} -> {each.after}"
        if others is not None and others[name] != "survived":
            continue
        if name not in record:
            record[name] = verdict(each, arguments.revision, arguments.timeout)
            arguments.record.write_text(json.dumps(record, indent=1) + "\n")
        print(f"{record[name]}: {name}", flush=True)
    return 0


def verdict(mutant: Mutant, revision: str | None, timeout: float) -> str:
    """``killed by`` tests, ``survived``, or ``gone`` where the line no longer stands."""
    with tempfile.TemporaryDirectory() as outer:
        tree = Path(outer) / "tree"
        if revision is None:
            shutil.copytree(
                ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "build", "__pycache__")
            )
        else:
            tree.mkdir()
            archive = subprocess.run(
                ["git", "archive", revision], cwd=ROOT, check=True, capture_output=True
            ).stdout
            subprocess.run(["tar", "x"], cwd=tree, check=True, input=archive)
            for native in (ROOT / "sim" / "codec").glob("_native*.so"):
                shutil.copy(native, tree / "sim" / "codec")
        file = _applied(mutant, tree)
        if file is None:
            return "gone"
        (Path(outer) / "path").mkdir()
        return _tested(file, tree, link_package(tree, Path(outer) / "path"), timeout)


def _applied(mutant: Mutant, tree: Path) -> str | None:
    """Changes the line, wherever its function is now; gives the file."""

    def distance(path: Path) -> tuple[bool, bool]:
        return path.name != Path(mutant.file).name, path.relative_to(tree).as_posix() != mutant.file

    for path in sorted((path for part in PARTS for path in (tree / part).rglob("*.py")), key=distance):
        text = path.read_text()
        for function, node in _functions(ast.parse(text)) if mutant.before in text else ():
            lines = text.splitlines(keepends=True)
            places = [
                n for n in range(node.lineno - 1, node.end_lineno or 0) if lines[n].strip() == mutant.before
            ]
            if function == mutant.function and len(places) == 1:
                lines[places[0]] = lines[places[0]].replace(mutant.before, mutant.after)
                path.write_text("".join(lines))
                return path.relative_to(tree).as_posix()
    return None


def _tested(file: str, tree: Path, path: Path, timeout: float) -> str:
    def exists(name: str) -> bool:
        return (tree / name).exists()

    nearest = [
        path.relative_to(tree).as_posix() for path in (tree / "tests").rglob(f"test_{Path(file).stem}.py")
    ]
    # All of the hardware's tests are too many for a room of it that has none of its own.
    folder = Path(file).parent
    folders = [folder, *(each for each in folder.parents if str(each) not in ("hdl", "."))]
    room = next(filter(exists, (f"tests/{each.as_posix()}" for each in folders)), "")
    further = next(tests for beginning, tests in FURTHER.items() if file.startswith(beginning))
    for tests in filter(None, (nearest, [room] if room else [], [name for name in further if exists(name)])):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-m",
            "not thorough",
            *tests,
        ]
        try:
            done = subprocess.run(
                command,
                cwd=tree,
                env={**os.environ, "PYTHONPATH": str(path)},
                timeout=timeout,
                capture_output=True,
            )
        except subprocess.TimeoutExpired:
            return f"killed by {' '.join(tests)}: no end"
        if done.returncode not in (0, 5):
            lines = [
                line for line in done.stdout.decode().splitlines() if line.startswith(("FAILED", "ERROR"))
            ]
            return f"killed by {lines[0].split(' - ')[0] if lines else ' '.join(tests)}"
    return "survived"


if __name__ == "__main__":
    sys.exit(main())
