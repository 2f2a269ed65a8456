"""A document as a page: each kind of block, and nothing of the text taken as HTML."""

from __future__ import annotations

import pytest

from cdma.hdl.deliver.register_page import page_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# A < B", '<h1 id="a--b">A &lt; B</h1>'),
        ("one\ntwo `a<b` & [c](#d)", '<p>one two <code>a&lt;b</code> &amp; <a href="#d">c</a></p>'),
        ("```text\n| a |\n\n<b>\n```", "<pre>| a |\n\n&lt;b&gt;</pre>"),
        ('<a id="here"></a>', '<a id="here"></a>'),
        (
            "| a | |\n|---|---|\n| `b` | c \\| d |",
            "<table><tr><th>a</th><th></th></tr><tr><td><code>b</code></td><td>c | d</td></tr></table>",
        ),
    ],
)
def test_blocks(text: str, shown: str) -> None:
    page = page_of(f"# Title\n\n{text}\n\nand more\n")
    assert f'<body>\n<h1 id="title">Title</h1>\n{shown}\n<p>and more</p>\n</body>' in page
    assert "<title>Title</title>" in page
