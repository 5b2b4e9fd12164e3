"""What the site adds to docs/: two pages of the repository, one for each rule set, links where the text names a page, and GitHub's reading of lists.

The pages are written to be read as files. mkdocs calls on_files once and on_page_markdown for each page.
"""
import re
import sys
from pathlib import Path

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parent))
import catalogue  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
SETS = sorted((ROOT / "rules").glob("*.yaml"))
# Files from outside of docs/, by the place that they get in the site.
OTHERS = {"index.md": "README.md", "rule_sets.md": "rules/README.md",
          **{f"examples/{path.name}": f"examples/{path.name}" for path in (ROOT / "examples").iterdir() if path.is_file()}}


def on_files(files, config):
    for place, source in OTHERS.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    for path in SETS:
        files.append(File.generated(config, f"rules/{path.stem}.md", content=catalogue.page(path)))
    menu = next(part["Rule sets"] for part in config.nav if "Rule sets" in part)
    menu.append({"Each rule": [f"rules/{path.stem}.md" for path in SETS]})
    named = re.findall(r"[\w/]+\.md", str(config.nav))
    more = sorted(file.src_uri for file in files.documentation_pages() if file.src_uri not in named)
    if more:
        config.nav.append({"More": more})
    return files


def linked_sets(line):
    """Names of rule sets become links; other code and links stay."""
    names = "|".join(path.stem for path in SETS)
    return re.sub(rf"(?<!\[)`({names})`(?!\])", r"[`\1`](rules/\1.md)", line)


def linked(line, pages):
    """`docs/x.md` in running text becomes a link; code and links stay."""
    def link(match):
        if match[1] or match[2]:
            return match[0]
        page = "rule_sets.md" if match[3] == "rules/README.md" else match[3].removeprefix("docs/")
        return f"[{match[3]}]({page})" if page in pages else match[0]

    return re.sub(r"(`+[^`]*`+)|(\[[^\]]*\]\([^)]*\))|\b(docs/\w+\.md|rules/README\.md)", link, line)


def on_page_markdown(markdown, page, config, files):
    pages = {file.src_uri for file in files.documentation_pages()}
    out, fence, before = [], "", ""
    for line in markdown.splitlines():
        mark = re.match(r"\s*(```+)", line)
        if mark and (not fence or fence == mark[1]):
            fence = "" if fence else mark[1]
            line = re.sub(r"(```+\w+) file=(\S+)$", r'\1 title="\2"', line)
        elif not fence and not mark:
            item = re.match(r"(- |\d+\. )", line)
            # A list behind a paragraph, as GitHub takes it.
            if item and before.strip() and not re.match(r"\s|- |\d+\. ", before):
                out.append("")
            line = linked(line.replace("](../examples/", "](examples/"), pages)
            if page.file.src_uri in OTHERS:
                line = linked_sets(line)
        out.append(line)
        before = line
    return "\n".join(out) + "\n"
