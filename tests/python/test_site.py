"""The site of docs/ builds, its links and anchors lead somewhere, and it needs nothing from elsewhere."""
import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
PAGES = [SOURCE / "README.md", SOURCE / "rules" / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]


class Page(HTMLParser):
    def __init__(self, path: Path):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.add(given.get("id") or given.get("name") or "")
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        loads = given.get("src") or (given.get("href") if tag == "link" and given.get("rel") != "canonical" else None)
        if loads:
            self.loaded.append(loads)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([SOURCE / "tools" / "dev", "site", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path: Page(path) for path in sorted(folder.rglob("*.html"))}


def test_every_page_is_there(site):
    made = {path.stem for path in site}
    assert {path.stem for path in PAGES if path.parent == SOURCE / "docs"} | {"index", "rule_sets"} <= made


@pytest.mark.parametrize("path", sorted((SOURCE / "rules").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_rule_set_has_a_page_with_each_of_its_rules(site, path):
    page = next(page for made, page in site.items() if made.parent.name == "rules" and made.stem == path.stem)
    keys = re.split(r"^(?=\w)", path.read_text(), flags=re.M)
    rules = re.findall(r"^  - name: ([\w-]+)$", "".join(key for key in keys if key.startswith("rules:\n")), re.M)
    assert set(rules) <= page.anchors


def test_links_lead_somewhere(site):
    checked = 0
    for path, page in site.items():
        if path.name == "404.html":  # its links are those of a server's root
            continue
        for link in page.links + page.loaded:
            where = urlsplit(link)
            if where.scheme or where.netloc:
                continue
            target = (path.parent / unquote(where.path)).resolve() if where.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{path.name}: {link}"
            if target in site:
                assert unquote(where.fragment) in site[target].anchors, f"{path.name}: {link}"
            checked += 1
    assert checked > 1000


def test_nothing_is_loaded_from_elsewhere(site):
    assert [link for page in site.values() for link in page.loaded if urlsplit(link).netloc] == []


def test_code_and_lists_are_such(site):
    rules = next(path for path in site if path.name == "rules.html").read_text()
    assert '<span class="filename">acme.yaml' in rules and "file=acme" not in rules
    # in docs/rules.md this list stands directly behind a line of text
    assert re.search(r"<li>one line: <code>match: y = Relu\(x\)</code>", rules)


def slug(heading: str) -> str:
    """As GitHub makes it."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_links_of_the_files_themselves(path):
    """The pages are read as files, too: their links are relative to the folder that they stand in."""
    def prose(page):
        return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)

    def anchors(page):
        return {slug(h) for h in re.findall(r"^#+ (.*)$", prose(page), re.M)} | set(re.findall(r'<a id="([^"]+)">', prose(page)))

    text = re.sub(r"`[^`\n]*`", "", prose(path))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        where = urlsplit(link)
        if where.scheme:
            continue
        target = (path.parent / where.path).resolve() if where.path else path
        assert target.exists(), link
        assert not where.fragment or where.fragment in anchors(target), link
    for named in re.findall(r"\b(docs/\w+\.md|rules/README\.md|examples/[\w.]+)", text):
        assert (SOURCE / named).exists(), named
