"""States and enumerations have the names of the source in the Verilog."""

from __future__ import annotations

import enum
import re

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.spec.records import Status
from cdma.hdl.verilog.dialect import SYSTEM_VERILOG
from cdma.hdl.verilog.emit import emit
from cdma.hdl.verilog.ports import CLOCK_AND_RESET, Port
from cdma.hdl.verilog.shell import Shell
from cdma.hdl.verilog.style import Style
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.proofs.equivalence import Whole
from cdma.verif.proofs.result import PROVEN
from tests.support.verilog_designs import verilog_of


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
    text = emit(_Block(), "answers", style=Style(SYSTEM_VERILOG)).text
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
