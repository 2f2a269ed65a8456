"""``cdma faults``: what it counts, prints and refuses."""

import json

import pytest

from cdma.app import main
from cdma.verif.campaigns.faults import campaign as campaigns
from cdma.verif.campaigns.faults.verdict import Tally, Verdict


@pytest.fixture
def found(monkeypatch):
    """Parts that have one case each, of which that of ``streams`` is silent."""

    def run(parts, *, jobs, scheduler):
        for part in parts:
            outcome = "silent" if part.campaign == "streams" else "detected"
            yield part, Tally.of([Verdict("flips", "7", outcome, 0, "OK" if outcome == "silent" else "")])

    monkeypatch.setattr(campaigns, "run_parts", run)


def test_a_silent_fault_fails_and_can_be_run_again(found, capsys):
    assert main(["faults", "streams", "--count", "5", "--seed", "4", "--formats", "zvc8"]) == 1
    said = capsys.readouterr().out
    assert "flips: silent: OK" in said
    assert "again: cdma faults streams --seed 4 --formats zvc8 --case 'zvc8: 7'" in said


def test_what_was_found_is_shown_where_it_is_interrupted(monkeypatch, capsys):
    def run(parts, *, jobs, scheduler):
        yield parts[0], Tally.of([Verdict("flips", "7", "silent", 0, "OK")])
        assert capsys.readouterr().out.splitlines()[1].split()[:4] == ["streams", "zvc8", "1", "0"]
        raise KeyboardInterrupt

    monkeypatch.setattr(campaigns, "run_parts", run)
    assert main(["faults", "streams", "--count", "5", "--formats", "zvc8", "own"]) == 130
    said = capsys.readouterr().out
    assert "1 of 2 parts have run, the others were not waited for" in said
    assert "flips: silent: OK\n  again: cdma faults streams" in said


@pytest.mark.parametrize("settings", ['clocks = "device,host,registers"', "channels = 2"])
def test_all_campaigns_that_an_engine_may_have(found, capsys, tmp_path, settings):
    (tmp_path / "engine.toml").write_text(settings)
    assert main(["faults", "--config", str(tmp_path / "engine.toml"), "--count", "5", "--json"]) == 1
    assert list(json.loads(capsys.readouterr().out)) == list(campaigns.CAMPAIGNS)


def test_json_and_markdown(found, shown, printed):
    tallies = printed("faults", "aborts", "resets")
    assert list(tallies) == ["aborts", "resets"]
    assert tallies["aborts"]["counts"]["flips"]["detected"] == 24
    assert tallies["aborts"]["failures"] == []
    lines = shown("faults", "stalls", "--markdown").splitlines()
    assert lines[0].startswith("| campaign | fault | cases | detected |")
    assert lines[2] == "| stalls | flips | 24 | 24 | 0 | 0 | 0 | 0 | 0 | 0 |"


def test_junit(found, tmp_path, capsys):
    path = tmp_path / "faults.xml"
    assert main(["faults", "aborts", "streams", "--junit", str(path)]) == 1
    text = path.read_text()
    assert 'name="cdma faults aborts"' in text
    assert "{'silent': 102}: OK" in text
    assert "cdma faults streams --seed 1 --case" in text
