"""Mutants: drawn alike for a seed, found by the regression or proved to change nothing, each run once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from cdma import CodecConfig, Format
from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, axis_ports
from cdma.verif.campaigns.mutation import campaign
from cdma.verif.campaigns.mutation.mutants import (
    Mutant,
    blocks_of,
    broken_rules,
    draw,
    is_equivalent,
    mutated_verilog,
)
from cdma.verif.campaigns.regression import verify
from cdma.verif.simulator.simulate import Design, Outcome
from cdma.verif.stream.codec.design import CodecDesign
from tests.support.patience import own_cache

DESIGN = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))
PACKER = "compressor.core.packer"
PLACEMENT = f"{PACKER}.placement"


def mutant(module: str, cell: str, port: str, mode: str = "inv") -> Mutant:
    command = f"mutate -mode {mode} -module {module} -cell {cell} -port {port} -portbit 0"
    return Mutant("compressor", module, command, "", "")


#: The valid of the output, and a count of the report, as the module around the codec gets them.
VALID = mutant("cdma_compressor", "core", "output_valid")
COUNT = mutant("cdma_compressor", "core", "report_words_out")


@dataclass(frozen=True)
class Tiny(Design):
    """A stream whose payload is 0 while nothing is valid, which nobody may look at."""

    block = "tiny"
    top = "tiny"
    summary = "a stream"
    ports = (*CLOCK_AND_RESET, *axis_ports("s", "input", data=2), *axis_ports("m", "output", data=2))

    def generate(self) -> str:
        return self.verilog()

    def verilog(self) -> str:
        ports = ", ".join(f"{port.direction} wire {port.range}{port.name}" for port in self.ports)
        return f"""module tiny({ports});
          assign s_tready = m_tready;
          assign m_tvalid = s_tvalid;
          assign m_tdata = s_tvalid ? s_tdata : 2'd0;
        endmodule"""

    @classmethod
    def from_json(cls, text: str) -> Tiny:
        return cls()


class Remembering(Tiny):
    """A stream that is written into a memory, and read from it a transfer later.

    While nothing is valid the data are 0, which the memory does not see.
    """

    top = "remembering"

    def verilog(self) -> str:
        ports = ", ".join(f"{port.direction} wire {port.range}{port.name}" for port in self.ports)
        return f"""module remembering_ram_1w1r_2x2_sync(input wire clk, input wire write_enable, input wire write_address,
            input wire [1:0] write_data, input wire read_enable, input wire read_address, output reg [1:0] read_data);
          reg [1:0] contents [0:1];
          always @(posedge clk) if (write_enable) contents[write_address] <= write_data;
          always @(posedge clk) if (read_enable) read_data <= contents[read_address];
        endmodule
        module remembering({ports});
          reg place = 0;
          wire take = s_tvalid && m_tready;
          always @(posedge aclk) place <= place ^ take;
          assign s_tready = m_tready;
          assign m_tvalid = s_tvalid;
          remembering_ram_1w1r_2x2_sync memory(.clk(aclk), .write_enable(take), .write_address(place),
            .write_data(s_tvalid ? s_tdata : 2'd0), .read_enable(take), .read_address(!place), .read_data(m_tdata));
        endmodule"""


def test_blocks() -> None:
    blocks = blocks_of(DESIGN)
    assert blocks["compressor"] == "cdma_compressor"
    assert blocks[PACKER] == "cdma_compressor_core_packer"
    assert len(set(blocks.values())) == len(blocks)


def test_mutants_are_drawn_alike_and_from_the_block_alone() -> None:
    mutants = draw(DESIGN, PACKER, 20, 1)
    assert mutants == draw(DESIGN, PACKER, 20, 1)
    assert mutants != draw(DESIGN, PACKER, 20, 2)
    assert len({each.command for each in mutants}) == 20
    assert all(each.block.startswith(PACKER) for each in mutants)
    assert not any("-port CLK" in each.command for each in draw(DESIGN, "compressor", 500, 1))


def test_refusals() -> None:
    with pytest.raises(
        ParameterError, match=r"block is 'compressor\.core\.pucker'; the blocks of the design are"
    ):
        draw(DESIGN, "compressor.core.pucker", 1, 1)
    for count in (0, 1 << 16):
        with pytest.raises(ParameterError, match=f"count is {count}; it must be 1 to 65535"):
            draw(DESIGN, PACKER, count, 1)
    with pytest.raises(ParameterError, match="blocks have 65536 mutants; a simulation has at most 65535"):
        mutated_verilog(DESIGN, [VALID] * (1 << 16))


@pytest.mark.verilator
def test_a_run_chooses_the_mutant() -> None:
    text = mutated_verilog(DESIGN, [VALID, COUNT])
    failed = []
    for plusargs in ([], ["+mutant=1"], ["+mutant=2"]):
        (outcome,) = verify(DESIGN, tests=["lengths"], verilog=text, plusargs=plusargs).outcomes
        failed.append(outcome.failure)
    assert failed[0] is None
    assert "17 packets went in, but more than that came out" in failed[1]
    assert "words out 0" in failed[2]


def test_equivalence_sees_what_anyone_may_look_at() -> None:
    kinds = {each.command.split()[2] + each.what[:10]: each for each in draw(Tiny(), "tiny", 100, 1)}
    # The choice of the data: always those of the input, always 0, and exchanged.
    choice = {kind: kinds[f"{kind}bit 0 of S"] for kind in ("const1", "const0", "inv")}
    assert {kind: is_equivalent(Tiny(), each) for kind, each in choice.items()} == {
        "const1": True,
        "const0": False,
        "inv": False,
    }


def test_equivalence_of_what_stands_around_a_memory() -> None:
    """A proof looks at what goes into a memory. Of a difference it cannot tell whether anyone will read it."""

    def verdict(cell: str, port: str, mode: str) -> bool | None:
        design = Remembering()
        [found] = [
            each
            for each in draw(design, "tiny", 500, 1)
            if f" -mode {mode} " in each.command
            and f"-port {port} -portbit 0" in each.command
            and f"-module remembering -cell {cell}" in each.command
        ]
        return is_equivalent(design, found)

    # Data are written while nothing is valid: nobody sees them. The others are other data, and another place.
    assert verdict(r"$ternary", "S", "const1") is True
    assert verdict(r"$ternary", "S", "const0") is None
    assert verdict(r"memory", "write_address", "inv") is None
    # The memory that is at fault is looked into.
    inner = [each for each in draw(Remembering(), "tiny", 500, 1) if "ram" in each.module]
    assert False in {is_equivalent(Remembering(), each) for each in inner[:4]}
    # What it holds at first is the same in both.
    assert is_equivalent(Remembering(), dataclasses.replace(inner[0], command="")) is True


@pytest.mark.slow
def test_a_proof_finds_a_mutant_that_breaks_the_rules_at_the_ports() -> None:
    """A valid that is inverted falls before ready; a report that is wrong is no matter of rules."""
    assert broken_rules(DESIGN, VALID).startswith("axi_stream.sv:")
    assert broken_rules(DESIGN, COUNT) == ""


def test_surviving_mutants_meet_the_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    job = campaign._Job(DESIGN, "", COUNT, 1, (), 5)
    verdicts = []
    for same, broken in ((True, "unasked"), (False, "axi_stream.sv:9"), (False, ""), (None, "")):
        monkeypatch.setattr(campaign, "is_equivalent", lambda *_, same=same: same)
        monkeypatch.setattr(campaign, "broken_rules", lambda *_, broken=broken: broken)
        verdicts.append(campaign._try_mutant(job))
    assert verdicts == [
        ("equivalent", "proof", "no input shows a difference"),
        ("killed", "compressor_ports", "axi_stream.sv:9"),
        ("survived", "", "some input shows a difference"),
        ("survived", "", "not decided by a proof of 5 s"),
    ]


@pytest.mark.verilator
@pytest.mark.slow
def test_a_campaign(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    own_cache(tmp_path, monkeypatch)
    done: list[campaign.Verdict] = []
    blocks = [PACKER, PLACEMENT]
    found = campaign.run_campaign(DESIGN, blocks, count=4, seed=3, packets=20, prove=2, on_done=done.append)
    assert [len(each) for each in found.values()] == [4, 4]
    assert len(done) == len({each.mutant for each in done}) <= 8
    assert {each.mutant.block for each in found[PLACEMENT]} == {PLACEMENT}
    verdicts = found[PACKER]
    *modules, whole = campaign.scores(verdicts, PACKER)
    assert whole.block == PACKER
    # A block without mutants in its submodules has no row but its own.
    inside = {each.mutant.block for each in verdicts}
    assert [module.block for module in modules] == ([] if inside == {PACKER} else sorted(inside))
    assert sum(module.mutants for module in modules or [whole]) == whole.mutants == 4
    assert whole.killed + whole.equivalent + whole.survivors == 4
    assert whole.killed >= 2
    assert all(each.by for each in verdicts if each.result == campaign.KILLED)
    assert all(each.reason for each in verdicts)

    def never(job):
        raise AssertionError("a verdict that is kept is not found again")

    monkeypatch.setattr(campaign, "_try_mutant", never)
    assert campaign.run_campaign(DESIGN, [PACKER], count=4, seed=3, packets=20, prove=2) == {PACKER: verdicts}


@pytest.mark.parametrize(("seconds", "quick"), [((1, 2, 3, 4), "123"), ((10, 50, 20, 80), "13"), ((7,), "1")])
def test_the_short_regression_has_tests_on_a_busy_machine(seconds: tuple[int, ...], quick: str) -> None:
    outcomes = [Outcome(str(number), None, seconds=each) for number, each in enumerate(seconds, 1)]
    assert campaign._quick(outcomes) == list(quick)


@pytest.mark.verilator
def test_a_design_that_fails_by_itself_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = mutated_verilog(DESIGN, [VALID]).replace("mutant = 0;", "mutant = 1;")
    monkeypatch.setattr(campaign, "mutated_verilog", lambda design, mutants: broken)
    with pytest.raises(
        CdmaError, match=r"the regression fails on the compressor .* without a fault: lengths: "
    ):
        campaign.run_campaign(DESIGN, [PACKER], count=1)
