"""What computed, copied and waited when: spans in lanes, as a trace that Chrome and Perfetto show."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .link import Copy, Link

__all__ = ["LANES", "Timeline"]

#: The lanes, in the order in which they are shown.
LANES = ("compute", "codec", "out", "back", "wait")


@dataclass
class Timeline:
    """Spans, each between two marks of the link's clock."""

    link: Link
    spans: list[tuple[str, str, Any, Any, int]] = field(default_factory=list)
    copies: list[tuple[str, str, Copy]] = field(default_factory=list)

    def add(self, lane: str, name: str, begin: Any, end: Any, nbytes: int = 0) -> None:
        """Adds a span."""
        self.spans.append((lane, name, begin, end, nbytes))

    def add_copy(self, lane: str, name: str, copy: Copy) -> None:
        """Adds a copy, whose marks are known when it has ended."""
        self.copies.append((lane, name, copy))

    def events(self) -> list[dict[str, Any]]:
        """The spans with seconds from the first mark, by time."""
        spans = list(self.spans)
        for lane, name, copy in self.copies:
            copy.synchronize()
            spans.append((lane, name, copy.begin, copy.end, copy.nbytes))
        if not spans:
            return []
        origin = spans[0][2]
        found = [
            {
                "lane": lane,
                "name": name,
                "begin": self.link.seconds(origin, begin),
                "seconds": self.link.seconds(begin, end),
                "bytes": nbytes,
            }
            for lane, name, begin, end, nbytes in spans
        ]
        return sorted(found, key=lambda event: event["begin"])

    def write(self, path: str | Path) -> None:
        """Writes the trace in the format of Chrome's trace viewer."""
        names = [
            {"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": lane}}
            for tid, lane in enumerate(LANES)
        ]
        spans = [
            {
                "ph": "X",
                "pid": 1,
                "tid": LANES.index(event["lane"]),
                "name": event["name"],
                "ts": event["begin"] * 1e6,
                "dur": event["seconds"] * 1e6,
                "args": {"bytes": event["bytes"]},
            }
            for event in self.events()
        ]
        Path(path).write_text(json.dumps({"traceEvents": [*names, *spans], "displayTimeUnit": "ms"}))
