"""``cdma mutate``: the list, the counts, JSON, the goal, refusals."""

import json

import pytest

from cdma.app import main


def test_list(capsys):
    assert main(["mutate", "--block", "compressor.core.packer", "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "compressor.core.packer"
    assert main(["mutate", "--block", "compressor", "decompressor", "--list", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)
    assert {"compressor", "decompressor", "decompressor.core.planner"} <= set(names)


@pytest.mark.verilator
@pytest.mark.slow
def test_counts(tmp_path, capsys):
    config = tmp_path / "small.toml"
    config.write_text('number = "bf16"\nbits = 4\nlanes = 1\n')
    command = ["mutate", "--block", "dequantiser", "--count", "2", "--config", str(config)]
    command += ["--packets", "10", "--prove", "1"]
    assert main([*command, "--goal", "0"]) == 0
    table = capsys.readouterr().out
    assert "dequantiser" in table
    assert main([*command, "--goal", "0", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["block"], row["mutants"]) == ("dequantiser", 2)
    assert row["equivalent"] + row["killed"] + row["survivors"] == 2
    assert row["killed"] > 0
    assert len(row["surviving"]) == row["survivors"]
    assert table.count("survived in") == row["survivors"]
    reached = row["killed"] == 2 - row["equivalent"]
    assert main([*command, "--goal", "100", "--json"]) == (0 if reached else 1)
