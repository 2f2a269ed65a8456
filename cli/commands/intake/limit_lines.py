"""What is not known: what this intake left out, known limits, and what has never been tried."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.hdl.deliver.document import Bullets, Paragraph, Part
from cdma.hdl.spec.stage import STAGES

from .documents import cited
from .line import NOT_SHOWN, Line
from .subject import Subject

__all__ = ["limits", "never_tried", "verdict"]


def limits(subject: Subject) -> Line:
    """What neither proofs nor tests say anything of."""
    answer = "What no proof, no test and no campaign of the project says anything of, by its own account."
    parts = cited("docs/verification.md", "What is not checked")
    return Line("limits", "Known limits", ["cdma prove --list"], answer, parts, nearest=True)


def never_tried(subject: Subject) -> Line:
    """No chip, no board, no tool of a vendor."""
    said = [
        *cited("README.md", "cDMA", "Status."),
        *cited("SECURITY.md", "What is not", "No design"),
        *cited("docs/integration.md", "The folder", "The constraints"),
    ]
    nearest = [subject.command("verify", "--netlist gates")]
    if subject.block not in STAGES:
        nearest.append(subject.command("fpga", "--target ecp5"))
    answer = "No silicon, no FPGA board, no tool of a vendor."
    return Line("never-tried", "Never tried", nearest, answer, said, nearest=True)


def verdict(subject: Subject, own: Sequence[Line], others: Sequence[Line]) -> Line:
    """What does not hold, and what was not done or not reached: of the certificate's ``own`` lines, and of all others."""
    every = [*others, *own]
    fails = [sentence for line in own for sentence in line.fails]
    fails += [f"{line.title}: {sentence}" for line in others for sentence in line.fails]
    left = [f"{line.title}: not shown" for line in every if line.status == NOT_SHOWN]
    left += [sentence for line in every for sentence in line.open]
    parts: list[Part] = [Paragraph("Not done, or not shown:"), Bullets(left)]
    commands, title = [subject.command("intake", "--run all")], "Verdict"
    if not fails and all(line.status == NOT_SHOWN for line in own):
        return Line("verdict", title, commands, "Nothing was tried.", parts)
    shown = sum(line.status != NOT_SHOWN for line in own)
    holds = "Everything that was tried holds"
    if shown < len(own):
        holds += f": {shown} of {len(own)} lines of the certificate; {len(own) - shown} were not tried"
    answer = "Something does not hold." if fails else f"{holds}."
    return subject.shown("verdict", title, commands, answer, *parts, fails=fails)
