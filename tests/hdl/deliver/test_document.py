"""A document in both forms: each kind of part, and nothing of a text taken as Markdown's or HTML's own."""

from __future__ import annotations

import pytest

from cdma.hdl.deliver.document import (
    Anchor,
    Bullets,
    Code,
    Drawing,
    Heading,
    Paragraph,
    Part,
    Table,
    as_html,
    as_markdown,
)


@pytest.mark.parametrize(
    ("part", "markdown", "html"),
    [
        (Heading("A < B", 3), "### A < B", "<h3>A &lt; B</h3>"),
        (
            Paragraph("one `a<b` & [c](#d)"),
            "one `a<b` & [c](#d)",
            '<p>one <code>a&lt;b</code> &amp; <a href="#d">c</a></p>',
        ),
        (Code("| a |\n\n<b>"), "```text\n| a |\n\n<b>\n```", "<pre>| a |\n\n&lt;b&gt;</pre>"),
        (Bullets(["a `b`", "<c>"]), "- a `b`\n- <c>", "<ul><li>a <code>b</code></li><li>&lt;c&gt;</li></ul>"),
        (Anchor("here"), '<a id="here"></a>', '<a id="here"></a>'),
        (
            Drawing("a.svg", "`a`", "<svg/>"),
            "![`a`](a.svg)",
            "<figure><svg/><figcaption><code>a</code></figcaption></figure>",
        ),
        (
            Table(("a", ""), [("`b`", "c | d"), ("", "")], numbers=[1]),
            "| a | |\n|---|---:|\n| `b` | c \\| d |\n|  |  |",
            "<table><tr><th>a</th><th></th></tr><tr><td><code>b</code></td><td>c | d</td></tr>"
            "<tr><td></td><td></td></tr></table>",
        ),
    ],
)
def test_a_part_reads_alike_in_both_forms(part: Part, markdown: str, html: str) -> None:
    parts = [Heading("A & B", 1), part, Paragraph("more")]
    assert as_markdown(parts) == f"# A & B\n\n{markdown}\n\nmore\n"
    page = as_html(parts)
    assert f"<body>\n<h1>A &amp; B</h1>\n{html}\n<p>more</p>\n</body>" in page
    assert "<title>A &amp; B</title>" in page


def test_headings_are_places_where_links_need_them() -> None:
    assert '<h2 id="ab_c-at-0x0">' in as_html([Heading("a.b_c at `0x0`")], anchors=True)
