"""The rules of a stream, each broken once."""

from __future__ import annotations

import pytest

from cdma.verif.simulator.monitors.rules import Beat, RuleError, StreamRules, keep_is_whole


def rules(**changes: object) -> StreamRules:
    return StreamRules("m_axis", **{"beat_bytes": 8, "word_bytes": 2, **changes})  # type: ignore[arg-type]


WHOLE = Beat(5, 0xFF)


def test_sound_traffic_passes() -> None:
    watch = rules()
    for beat, ready in (
        (None, False),
        (WHOLE, False),
        (WHOLE, True),
        (None, True),
        (Beat(1, 0x0F, True), True),
    ):
        watch.sample(beat, ready)
    assert watch.cycles == 5


def test_retraction() -> None:
    watch = rules()
    watch.sample(WHOLE, False)
    with pytest.raises(RuleError, match=r"m_axis: valid fell although ready had not come \(retraction\)"):
        watch.sample(None, True)


def test_valid_may_fall_after_ready() -> None:
    watch = rules()
    watch.sample(WHOLE, True)
    watch.sample(None, False)


@pytest.mark.parametrize("other", [Beat(6, 0xFF), Beat(5, 0x0F), Beat(5, 0xFF, True)])
def test_payload_changes_while_waiting(other: Beat) -> None:
    watch = rules()
    watch.sample(WHOLE, False)
    with pytest.raises(RuleError, match="the payload changed while valid waited for ready"):
        watch.sample(other, False)


@pytest.mark.parametrize("keep", [0xF0, 0x0D, 0x07, 0xFD])
def test_keep_with_a_hole_or_a_cut_word(keep: int) -> None:
    with pytest.raises(RuleError, match="has a hole or cuts a word"):
        rules().sample(Beat(0, keep, True), True)


def test_partial_beat_in_the_middle() -> None:
    with pytest.raises(RuleError, match="partial in a beat that is not the last"):
        rules().sample(Beat(0, 0x0F), True)


def test_empty_beat() -> None:
    with pytest.raises(RuleError, match="an empty beat"):
        rules().sample(Beat(0, 0, True), True)
    rules(may_be_empty=True).sample(Beat(0, 0, True), True)
    with pytest.raises(RuleError, match="partial in a beat that is not the last"):
        rules(may_be_empty=True).sample(Beat(0, 0), True)


def test_valid_in_reset() -> None:
    rules().reset(False)
    with pytest.raises(RuleError, match="m_axis: valid is high in reset"):
        rules().reset(True)


def test_reset_forgets_what_was_on_offer() -> None:
    watch = rules()
    watch.sample(WHOLE, False)
    watch.reset(False)
    watch.sample(None, False)


def test_keep_is_whole() -> None:
    assert [keep for keep in range(256) if keep_is_whole(keep, 2)] == [0, 0x03, 0x0F, 0x3F, 0xFF]
