"""The page of a run in a browser: what it shows is what the trace has, and everything is reached by keys and by mouse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cdma.sim.codec.model import compress_words
from cdma.sim.codec.words import words_from_bytes
from cdma.verif.simulator.page import Box, Event, Group, Names, Row, Tensor, View, lines_of
from cdma.verif.simulator.page import page as page_of
from cdma.verif.simulator.passage import level_lines, packets_of
from cdma.verif.simulator.vcd_trace import Changes, Scope, Trace, read_trace
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.codec.measure import wave
from tests.support.documents import browser, shown

_CYCLES = 200


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as found:
        yield found


def small_trace() -> Trace:
    """A bit that toggles every ten cycles, a number that follows the cycles, a wide one, and a state."""
    signals = {
        name: Changes(bits)
        for name, bits in (("aclk", 1), ("bit", 1), ("core.number", 12), ("core.wide", 70))
    }
    signals |= {"core.part.fsm_state": Changes(2)}
    for cycle in range(_CYCLES):
        signals["bit"].put(cycle, cycle // 10 % 2)
        signals["core.number"].put(cycle, cycle)
        signals["core.wide"].put(cycle, cycle // 50 << 64 | 5)
        signals["core.part.fsm_state"].put(cycle, cycle // 100)
    for value, name in enumerate(("IDLE", "RUN")):
        signals[f"core.part.FSM_STATE_{name}"] = Changes(2)
        signals[f"core.part.FSM_STATE_{name}"].put(0, value)
    return Trace(Scope("top"), [], signals, range(_CYCLES), _CYCLES)


def small_view(trace: Trace) -> View:
    names = Names({0: "well", 150: "broken"}, frozenset({150}))
    cause = Event(140, "what broke it", True)
    groups = [
        Group("", lines_of(trace, ("aclk", "bit"))),
        Group(
            "moved",
            lines_of(trace, ["core.number"], base="dec", names=names),
            rows=[
                Row(
                    "bursts",
                    [
                        Box(20, 60, "burst 0", "sixty", beats=range(30, 60, 10)),
                        Box(50, 90, "burst 1", "ninety"),
                        Box(150, 159, "bad", "", True),
                    ],
                )
            ],
        ),
        Group("levels", lines_of(trace, ["core.number"], base="analog"), closed=True),
    ]
    tensor = Tensor(
        "ten words",
        ("here", "on its way", "there"),
        [f"w{n}" for n in range(10)],
        list(range(10, 20)),
        [*range(30, 39), -1],
        [n % 2 == 0 for n in range(10)],
        (40, 2020),
    )
    events = [
        *(Event(cycle, f"r{cycle} = 0", kind="register writes") for cycle in (5, 7, 9)),
        Event(20, "burst 0 begins"),
        cause,
        Event(159, "it is broken", True, cause),
        Event(180, "r180 = 0", kind="register writes"),
    ]
    return View(groups, events, {"begin": 20}, [tensor])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trace = small_trace()
    path = tmp_path_factory.mktemp("page") / "small.html"
    path.write_text(page_of("a <small> run", trace, small_view(trace), total=50_176))
    return path


@contextmanager
def whole(running: Any, file: Path, **options: Any) -> Iterator[Any]:
    """The page with the whole run, and the cursor at cycle 20."""
    with shown(running, file, **options) as page:
        page.evaluate("fit(); moveCursor(20)")
        yield page


def readout(page: Any) -> str:
    page.evaluate("new Promise(requestAnimationFrame)")
    return str(page.inner_text("#readout"))


def press(page: Any, *keys: str) -> str:
    """Presses keys and says what the page says of the cursor."""
    for key in keys:
        page.keyboard.press(key)
    return readout(page)


def place_of(page: Any, title: str, cycle: float, lane: int = 0) -> tuple[float, float]:
    """Where a row of boxes, or the signal at a path, is on the screen."""
    at: list[float] = page.evaluate(
        """([title, cycle, lane]) => {
          const row = rows.find(({boxes, line, group}) => (boxes ?? line ?? group).title === title || line?.path === title);
          const box = canvas.getBoundingClientRect();
          return [box.left + xOf(cycle + 0.5), box.top + HEAD - seen.top + row.y + lane * LANE + 10];
        }""",
        [title, cycle, lane],
    )
    return at[0], at[1]


def test_it_opens_in_the_middle_of_the_first_flight(running: Any, small: Path) -> None:
    """Not in the reset: words are on their way, and what is seen is from the first one's entry to the last one's end."""
    with shown(running, small) as page:
        assert readout(page).startswith("cycle 24 ")
        assert page.inner_text("#flight") == "40 → 2,020 bytes, 29 cycles, words 0 to 9 of 50,176"
        assert "on its way: 10" in page.inner_text("#places")
        first, last = page.evaluate("[seen.from, seen.from + span()]")
        assert 8 < first < 10
        assert 39 < last < 41


def test_the_cursor_reads_every_signal_by_keys(running: Any, small: Path) -> None:
    with whole(running, small) as page:
        assert readout(page).startswith("cycle 20 ")
        assert press(page, "ArrowRight") == "cycle 21 · bit = 0"
        assert press(page, "Shift+ArrowRight") == "cycle 30 · bit = 1"
        assert press(page, "Shift+ArrowLeft", "Shift+ArrowLeft") == "cycle 10 · bit = 1"
        assert press(page, "End", "ArrowDown") == "cycle 199 · moved"
        assert press(page, "ArrowDown", "ArrowDown") == "cycle 199 · number = 199"
        assert press(page, "Home") == "cycle 0 · number = well"
        assert "core.number\n12 bits: well  (0x0, 0)\nfrom cycle 0 to 0" in page.inner_text("#details")


def test_search_shows_a_signal_that_no_group_has(running: Any, small: Path) -> None:
    with whole(running, small) as page:
        page.keyboard.press("/")
        page.keyboard.type("part state")
        assert page.locator("#found li").all_inner_texts() == ["core.part.fsm_state"]
        assert press(page, "Enter") == "cycle 20 · core.part.fsm_state = IDLE"
        assert press(page, "End") == "cycle 199 · core.part.fsm_state = RUN"
        page.keyboard.press("/")
        page.keyboard.type("wide")
        assert press(page, "Enter") == f"cycle 199 · core.wide = {3 << 64 | 5:018x}"


def test_a_click_on_a_box_shows_what_is_in_it(running: Any, small: Path) -> None:
    with whole(running, small) as page:
        page.mouse.click(*place_of(page, "bursts", 55, lane=0))
        assert page.inner_text("#details") == "burst 0\ncycles 20 to 60 (41)\nsixty"
        assert readout(page).startswith("cycle 55 ")
        page.mouse.click(*place_of(page, "bursts", 55, lane=1))
        assert page.inner_text("#details") == "burst 1\ncycles 50 to 90 (41)\nninety"
        # The keys reach the boxes, too.
        press(page, "Home", "Shift+ArrowRight")
        assert page.inner_text("#details").startswith("burst 0\n")


def test_an_error_is_red_and_leads_to_its_cause(running: Any, small: Path) -> None:
    with whole(running, small) as page:
        assert page.locator("#events button.error").count() == 2
        page.click("#events button:has-text('it is broken')")
        assert readout(page).startswith("cycle 159 ")
        assert "because of: what broke it (cycle 140)" in page.inner_text("#details")
        page.click("#cause")
        assert readout(page).startswith("cycle 140 ")
        page.focus("#canvas")
        press(page, "Home", "e")
        assert readout(page).startswith("cycle 140 ")
        assert press(page, "e", "c").startswith("cycle 140 ")
        assert press(page, "p").startswith("cycle 20 ")
        # The box of the error leads there, too, and is red.
        page.mouse.click(*place_of(page, "bursts", 155))
        page.click("#cause")
        assert readout(page).startswith("cycle 140 ")
        x, y = place_of(page, "bursts", 149.5)
        pixel = page.evaluate(
            """([x, y]) => {
              const box = canvas.getBoundingClientRect(), ratio = devicePixelRatio;
              return [...context.getImageData((x - box.left) * ratio, (y - box.top) * ratio, 1, 1).data];
            }""",
            [x, y],
        )
        red = page.evaluate("colors.error")
        assert pixel[:3] == pytest.approx([int(red[at : at + 2], 16) for at in (1, 3, 5)], abs=20)


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_widths_and_both_themes(running: Any, small: Path, width: int, scheme: str) -> None:
    with whole(running, small, width=width, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == width
        # A third of the screen at least is waveform, and no name covers it.
        assert page.evaluate("width - gutter") > 0.5 * page.evaluate("width")
        assert page.evaluate("width * tall") > width * 800 / 3
        assert page.evaluate("width") >= (width if width < 800 else 0.7 * width)
        paper = page.evaluate(
            "[...context.getImageData(canvas.width - 2, canvas.height - 2, 1, 1).data].slice(0, 3)"
        )
        assert (sum(paper) < 200) == (scheme == "dark")
        page.mouse.click(*place_of(page, "bursts", 55))
        assert "burst 0" in page.inner_text("#details")
        for part in ("#search", "#zoom-in", "#readout", "#details", "#places"):
            assert page.locator(part).is_visible(), part


def test_the_tensor_is_where_it_is_at_the_cursor(running: Any, small: Path) -> None:
    with whole(running, small) as page:
        for cycle, numbers in (
            (0, (10, 0, 0)),
            (10, (10, 0, 0)),
            (11, (9, 1, 0)),
            (20, (0, 10, 0)),
            (35, (0, 5, 5)),
            (199, (0, 1, 9)),
        ):
            page.evaluate("(cycle) => moveCursor(cycle)", cycle)
            readout(page)
            said = page.inner_text("#places")
            assert said == "here: {}on its way: {}there: {}".format(*numbers), cycle
        page.mouse.click(
            *page.evaluate(
                "(() => { const box = cells.getBoundingClientRect(); return [box.left + 3, box.top + 3] })()"
            )
        )
        assert page.inner_text("#details") == "word 0: w0 (a literal)\nread in cycle 10\nwritten in cycle 30"
        # Keys go from word to word.
        page.focus("#cells")
        assert press(page, "ArrowRight").startswith("cycle 31 ")
        assert page.inner_text("#details").startswith("word 1: w1 (in the header alone)\n")


def test_a_page_needs_nothing_beside_it(small: Path) -> None:
    text = small.read_text()
    assert "<title>a &lt;small&gt; run</title>" in text
    assert "http" not in text.replace("http-equiv", "")
    assert "<!-- " not in text


@pytest.mark.verilator
def test_a_window_of_a_run_shows_its_header_and_its_words(running: Any, tmp_path: Path) -> None:
    design = CodecDesign("compressor")
    wave(design, tmp_path, ("vcd", "html"))
    trace = read_trace(tmp_path / "compressor.vcd", design.top, design.port_names)
    first, _ = packets_of(trace.cycles, "s_axis")
    # What is in the packer is nothing until words come.
    (packed,) = level_lines(trace, "core")
    filled = trace.signals[packed.path]
    assert (packed.base, filled.values[0]) == ("analog", 0)
    assert filled.cycles[1] > first[0].cycle
    raw = b"".join(beat.data.to_bytes(32, "little")[: beat.keep.bit_length()] for beat in first)
    words = words_from_bytes(raw, design.config.format)
    stream = compress_words(words, design.config.format)
    assert (tmp_path / "compressor.html").stat().st_size < 2_000_000
    with shown(running, tmp_path / "compressor.html") as page:
        beat = packets_of(trace.cycles, "m_axis")[0][0]
        page.mouse.click(*place_of(page, "windows", beat.cycle))
        details = page.inner_text("#details")
        assert details.startswith("window 0: ")
        assert f"header {stream[0]:08x}" in details
        shown_words = [word for line in details.splitlines()[4:] for word in line.split()[1:]]
        assert shown_words == [f"{word:08x}" if word else "(0)" for word in words[:32]]
        page.keyboard.press("End")
        readout(page)
        assert page.inner_text("#places").startswith("to come: 0in the compressor: 0out: ")
