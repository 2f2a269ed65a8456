"""The texts of all pages in a script, from which the search shows what it found.

Sphinx's index is a script, but an excerpt below a title is cut from a page that the search fetches. A browser
fetches nothing for a page that is a file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

__all__ = ["embed_texts"]

_NAME = "searchtexts.js"
#: Answers the search's requests for pages of the site, by their address from its root.
_ANSWERS = """\
const textOf = (page) => SEARCH_TEXTS[page.replace(/^[.][/]/, "")] ?? "";
window.fetch = (page) => Promise.resolve({ text: () => textOf(page) });
"""


def embed_texts(site: Path) -> None:
    """Writes the script, and names it in the page of the search ahead of the search itself."""
    texts = {}
    for page in sorted(site.rglob("*.html")):
        article = re.search(r'<article role="main".*?</article>', page.read_text(encoding="utf-8"), re.DOTALL)
        if article is not None:
            texts[page.relative_to(site).as_posix()] = _slim(article[0])
    script = f"const SEARCH_TEXTS = {json.dumps(texts, ensure_ascii=False)};\n{_ANSWERS}"
    (site / _NAME).write_text(script, encoding="utf-8")
    search = site / "search.html"
    head, mark, rest = search.read_text(encoding="utf-8").partition("<head>")
    search.write_text(f'{head}{mark}<script src="{_NAME}"></script>{rest}', encoding="utf-8")


def _slim(html: str) -> str:
    """A page's article without tags, but for those that a result may lead to, and without marks of headings."""
    html = re.sub(r'<a class="headerlink".*?</a>', "", html, flags=re.DOTALL)
    html = re.sub(r"<(?!/?(?:article|section)\b|dt\b|/dt\b)[^>]*>", "", html)
    return re.sub(r"\s+", " ", html)
