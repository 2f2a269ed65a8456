"""States and enumerations have the names of the source in the Verilog. The printed Verilog is the netlist that it was
printed from: Yosys proves it for every module.
"""

from __future__ import annotations

import enum
import re
from dataclasses import replace
from functools import cache

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.codec.generate import codec_design, codec_shell
from cdma.hdl.deliver.block import VERILOG
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import Status
from cdma.hdl.verilog.emit import emit
from cdma.hdl.verilog.names import SYSTEM_VERILOG
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, Shell
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.proofs.equivalence import Equivalence, Modules, Revisions, Whole, printed
from cdma.verif.proofs.printed import PROOFS
from cdma.verif.proofs.proof import FAILED, PROVEN, shell_of
from tests.support.thorough import cases_of
from tests.support.verilog_designs import DESIGNS, verilog_of


class BusReply(enum.Enum):
    FINE = 0
    LATE = 1
    WRONG = 2


class _Block(Shell):
    """Waits, then answers."""

    def __init__(self) -> None:
        ports = [Port("ask", "input", 1), Port("late", "input", 1), Port("told", "output", 1)]
        super().__init__([*CLOCK_AND_RESET, *ports])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        reply = Signal(BusReply, init=BusReply.WRONG)
        with m.FSM(name="turn"):
            with m.State("IDLE"), m.If(self.port("ask")):
                m.next = "WAIT"
            with m.State("WAIT"):
                m.d.sync += reply.eq(BusReply.LATE)
                m.next = "ANSWER"
            with m.State("ANSWER"):
                with m.If(self.port("late")):
                    m.d.sync += reply.eq(BusReply.FINE)
                m.next = "IDLE"
        m.d.comb += self.port("told").eq(reply == BusReply.LATE)
        return m


def test_constants_are_local_parameters_of_that_name() -> None:
    lines = [line.strip() for line in emit(_Block(), "answers").text.splitlines()]
    assert [line for line in lines if line.startswith("localparam")] == [
        "localparam [1:0] BUS_REPLY_FINE = 2'd0;",
        "localparam [1:0] BUS_REPLY_LATE = 2'd1;",
        "localparam [1:0] BUS_REPLY_WRONG = 2'd2;",
        "localparam [1:0] TURN_STATE_IDLE = 2'd0;",
        "localparam [1:0] TURN_STATE_WAIT = 2'd1;",
        "localparam [1:0] TURN_STATE_ANSWER = 2'd2;",
    ]
    text = "\n".join(lines)
    assert "told = reply == BUS_REPLY_LATE;" in text
    assert "case (turn_state)\nTURN_STATE_IDLE: turn_state <= " in text
    assert "TURN_STATE_WAIT: turn_state <= TURN_STATE_ANSWER;\n" in text
    assert "default: turn_state <= turn_state;\nendcase\n" in text
    assert "turn_state_is" not in text, "a comparison stands where it is used, however often"
    assert "turn_state = TURN_STATE_IDLE;" in text, "the initial value"
    assert "reply <= BUS_REPLY_WRONG;" in text, "the value at reset"
    assert text.count("2'd") == 7, "every constant but the value that is no state has its name"


def test_states_are_a_type_in_system_verilog() -> None:
    text = emit(_Block(), "answers", dialect=SYSTEM_VERILOG).text
    assert "    TURN_STATE_WAIT = 2'd1,\n" in text
    assert "\n  turn_state_t turn_state = TURN_STATE_IDLE;\n" in text
    assert "localparam logic [1:0] BUS_REPLY_LATE = 2'd1;" in text
    assert "localparam logic [1:0] TURN" not in text
    assert not re.search(r"\b(?:wire|reg|initial)\b(?! values)", text)
    assert Whole(_Block(), text, "answers", SYSTEM_VERILOG).compare(60)[0] == PROVEN
    changed = text.replace("TURN_STATE_IDLE;", "TURN_STATE_WAIT;", 1)
    assert changed != text
    assert Whole(_Block(), changed, "answers", SYSTEM_VERILOG).compare(60)[0] != PROVEN


@pytest.mark.slow
def test_next_states_have_the_names_and_the_type_of_states() -> None:
    text = verilog_of("engine-sv").text
    assert re.search(r"\n  fsm_state_t fsm_state_otherwise\w*;\n", text)
    assert re.search(r"assign fsm_state_otherwise\w* = flush \? FSM_STATE_WAIT : FSM_STATE_GIVE;", text)
    assert "_t'(" not in text


@pytest.mark.slow
def test_an_engine_has_the_names_of_its_documents() -> None:
    """Of status codes and of the registers that it keeps."""
    text = EngineDesign(SMALL).verilog()
    codes = set(re.findall(r"localparam \[7:0\] STATUS_(\w+) = 8'[dh](\w+);", text))
    assert len(codes) > 6
    for name, number in codes:
        assert Status[name] == int(number, 16)
    assert " ? STATUS_ZERO_LENGTH" in text
    assert re.search(r"place == REGISTER_PUSH_LENGTH_LOW\b", text)


@pytest.mark.slow
def test_nothing_is_added_to_zero() -> None:
    assert not re.search(r"[-+] \d+'d0\b", EngineDesign(SMALL).verilog())


_TINY = CodecConfig(Format(8, 8), lanes=2)

_BY_MODULE = {proof.label: proof for proof in PROOFS if proof.method == "equiv"}


# The modules of engines take a minute or two, and codecs have nearly all of their constructs.
@pytest.mark.slow
@pytest.mark.parametrize("proof", cases_of(_BY_MODULE, {name for name in _BY_MODULE if "engine" in name}))
def test_it_is_the_same_logic(proof: Equivalence) -> None:
    status, bits, detail = proof.sides().compare(1800)
    assert (status, detail) == (PROVEN, "")
    assert bits > 100


@cache
def _with_memory() -> Modules:
    return printed(codec_shell("compressor", replace(_TINY, pipelined=True)))


def test_another_logic_is_found() -> None:
    sides = _with_memory()
    broken = sides.after.replace(" & ", " | ", 1)
    assert broken != sides.after
    status, _, detail = Modules(sides.before, broken).compare(60)
    assert status == FAILED
    assert "unproven" in detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "instead", "said"),
    [
        ("<= {input_malformed, ", "<= {~input_malformed, ", "unproven"),
        ("if (input_valid) begin\n      memory", "if (~input_valid) begin\n      memory", "unproven"),
        ("memory[write_index[3:0]]", "memory[~write_index[3:0]]", "unproven"),
        ("memory[read_index[3:0]]", "memory[write_index[3:0]]", "unproven"),
        ("reg [64:0] memory [0:15]", "reg [64:0] memory [0:14]", "memory is not the same on both sides"),
        ("if (memory_read_enable)", "if (~memory_read_enable)", "unproven"),
    ],
    ids=["data", "write", "written", "read", "words", "enable"],
)
def test_another_use_of_a_memory_is_found(text: str, instead: str, said: str) -> None:
    """Memories are cut out: what they are given is compared, and what they are."""
    sides = _with_memory()
    assert text in sides.after
    status, _, detail = Modules(sides.before, sides.after.replace(text, instead, 1)).compare(60)
    assert status == FAILED
    assert said in detail


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in DESIGNS if DESIGNS[name].language == VERILOG])
def test_every_shape_is_the_same_logic(name: str) -> None:
    block, config, *_ = DESIGNS[name]
    status, bits, detail = printed(shell_of(block, config)).compare(1800)
    assert (status, detail) == (PROVEN, "")
    assert bits > 10


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_system_verilog_is_the_same_logic_from_its_initial_values_on(block: str) -> None:
    text = codec_design(block, _TINY, dialect=SYSTEM_VERILOG).text
    whole = Whole(codec_shell(block, _TINY), text, f"cdma_{block}", SYSTEM_VERILOG)
    assert whole.compare(600)[0] == PROVEN
    changed = text.replace(" = 1'b0;", " = 1'b1;", 1)
    assert changed != text
    assert Whole(whole.shell, changed, whole.top, SYSTEM_VERILOG).compare(600)[0] == FAILED


@pytest.mark.slow
def test_another_text_of_the_same_logic_is_proven_and_another_logic_found() -> None:
    text = codec_design("compressor", _TINY).text
    renamed = text.replace("channel", "way").replace(" over_one", " beyond").replace("(over_one", "(beyond")
    assert Revisions(text, renamed, "cdma_compressor").compare(600)[0] == PROVEN
    broken = text.replace(" & ", " | ", 1)
    assert broken != text
    assert Revisions(text, broken, "cdma_compressor").compare(600)[0] == FAILED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "config"),
    cases_of(
        {"pipelined": ("compressor", replace(_TINY, pipelined=True)), "engine": ("engine", SMALL)}, {"engine"}
    ),
)
def test_every_module_of_system_verilog_is_the_same_logic(
    block: str, config: CodecConfig | EngineConfig
) -> None:
    sides = printed(shell_of(block, config), SYSTEM_VERILOG)
    assert "always_ff" in sides.after
    assert "typedef enum" in sides.after or block != "engine"
    status, bits, detail = sides.compare(1800)
    assert (status, detail) == (PROVEN, "")
    assert bits > 100
