"""``cdma mutate``: the list, the counts, JSON, the goal, refusals."""

import json

import pytest

from cdma.app import main


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text("word_bits = 8\nwindow = 8\nlanes = 2\n")
    return str(path)


def test_list(config, capsys):
    assert main(["mutate", "--block", "compressor.core.packer", "--config", config, "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "compressor.core.packer"
    assert main(["mutate", "--block", "compressor", "decompressor", "--list", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)
    assert {"compressor", "decompressor", "decompressor.core.planner"} <= set(names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--block", "codec"],
            "block is 'codec'; it must be compressor, decompressor, quantiser, dequantiser, engine or a block of one of",
        ),
        (
            ["--block", "compressor.core.pucker"],
            "block is 'compressor.core.pucker'; the blocks of the design are",
        ),
        (["--count", "0"], "count is 0; it must be 1 or more"),
        (["--jobs", "0"], "jobs is 0; it must be 1 or more"),
        (["--goal", "101"], "goal is 101; it must be 0 to 100 percent"),
    ],
)
def test_refusals(arguments, message, capsys):
    assert main(["mutate", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.verilator
@pytest.mark.slow
def test_counts(config, capsys):
    command = ["mutate", "--block", "decompressor.core.planner", "--count", "4", "--config", config]
    command += ["--packets", "100", "--prove", "5"]
    assert main([*command, "--goal", "60"]) == 0
    table = capsys.readouterr().out
    assert "decompressor.core.planner" in table
    assert main([*command, "--goal", "60", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["block"], row["mutants"]) == ("decompressor.core.planner", 4)
    assert row["equivalent"] + row["killed"] + row["survivors"] == 4
    assert len(row["surviving"]) == row["survivors"]
    assert table.count("survived in") == row["survivors"]
    reached = row["killed"] == 4 - row["equivalent"]
    assert main([*command, "--goal", "100", "--json"]) == (0 if reached else 1)
