"""The HTML page of a report."""

from html.parser import HTMLParser

from cdma.sim.codec.tensor_profile import profile
from cdma.sim.study.profile.link import Settings
from cdma.sim.study.profile.page import page
from cdma.sim.study.profile.report import Report
from tests.support.tensors import tensor


class Page(HTMLParser):
    """Collects what a page would load, and its table."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.tags, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("meta", "path", "rect", "polyline"):
            self.open.append(tag)
        self.loads += [value for name, value in attributes if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open.pop() == tag


class TestPage:
    def test_needs_nothing_else(self):
        report = Report((profile("a", tensor(0.1)), profile("b", tensor(0.9))), Settings())
        text = page(report, "my <network>")
        parsed = Page(text)
        assert parsed.loads == parsed.open == []
        assert "script" not in parsed.tags
        assert "url(" not in text
        assert parsed.tags.count("svg") == 3
        assert parsed.tags.count("tr") == 3
        assert "my &lt;network&gt;" in text
        assert "my <network>" not in text

    def test_names_are_escaped(self):
        assert "<b>x" not in page(Report((profile("<b>x", tensor()),), Settings()), "t")
