"""``cdma mutate``: the list, the counts, JSON, the goal, refusals."""

import pytest

from cdma.app import main


@pytest.mark.slow
def test_list(shown, printed):
    assert (
        shown("mutate", "--block", "compressor.core.packer", "--list").splitlines()[0]
        == "compressor.core.packer"
    )
    names = printed("mutate", "--block", "compressor", "decompressor", "--list")
    assert {"compressor", "decompressor", "decompressor.core.planner"} <= set(names)


@pytest.mark.verilator
@pytest.mark.slow
def test_counts(tmp_path, shown, printed):
    config = tmp_path / "small.toml"
    config.write_text('number = "bf16"\nbits = 4\nlanes = 1\n')
    command = ["mutate", "--block", "dequantiser", "--count", "2", "--config", str(config)]
    command += ["--packets", "10", "--prove", "1"]
    table = shown(*command, "--goal", "0")
    assert "dequantiser" in table
    (row,) = printed(*command, "--goal", "0")
    assert (row["block"], row["mutants"]) == ("dequantiser", 2)
    assert row["equivalent"] + row["killed"] + row["survivors"] == 2
    assert row["killed"] > 0
    assert len(row["surviving"]) == row["survivors"]
    assert table.count("survived in") == row["survivors"]
    reached = row["killed"] == 2 - row["equivalent"]
    assert main([*command, "--goal", "100", "--json"]) == (0 if reached else 1)
