"""``cdma mutate``: the list, the counts, JSON, the goal, refusals."""

import re

import pytest

from cdma.app import main
from cdma.verif.campaigns.mutation import campaign
from cdma.verif.campaigns.mutation.campaign import Verdict
from cdma.verif.campaigns.mutation.mutants import draw


@pytest.mark.slow
def test_list(shown, printed):
    assert (
        shown("mutate", "--block", "compressor.core.packer", "--list").splitlines()[0]
        == "compressor.core.packer"
    )
    names = printed("mutate", "--block", "compressor", "decompressor", "--list")
    assert {"compressor", "decompressor", "decompressor.core.planner"} <= set(names)


@pytest.mark.slow
def test_counts(tmp_path, shown, printed, monkeypatch):
    def found(design, blocks, *, count, seed, **_):
        results = ["killed", "survived", "equivalent", "killed"]
        return {
            block: [
                Verdict(mutant, result, reason=f"it {result}")
                for mutant, result in zip(draw(design, block, count, seed), results, strict=True)
            ]
            for block in blocks
        }

    monkeypatch.setattr(campaign, "run_campaign", found)
    config = tmp_path / "small.toml"
    config.write_text('number = "bf16"\nbits = 4\nlanes = 1\n')
    command = ["mutate", "--block", "dequantiser", "--count", "4", "--config", str(config)]
    table = shown(*command, "--goal", "60")
    assert re.search(r"^dequantiser +4 +1 +2 +1 ", table, re.MULTILINE)
    assert table.count("survived in dequantiser") == table.count("  it survived\n  line ") == 1
    (row,) = printed(*command, "--goal", "60")
    assert (row["block"], row["mutants"], row["killed"], row["equivalent"]) == ("dequantiser", 4, 2, 1)
    assert [each["result"] for each in row["surviving"]] == ["survived"]
    # Two of the three that differ.
    assert main([*command, "--goal", "67", "--json"]) == 1
