"""Makes the documentation's site in build/site: the guides, what was measured, and the manual pages that stand in the sources.

    make site                          with mkdocs, which is installed into external/sitevenv
    python3 scripts/site.py --check    only whether all pages can be made and no link is broken

Pages are the files of the repository at their own places; a link from one to a file that is no page becomes plain text. A manual page is a
comment /*@ of a function, /*MC of a type or a solver, /*E of an enumeration, in PETSc's form.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "build/sitepages"
SITE = ROOT / "build/site"
GUIDES = {
    "Use": ["docs/use.md", "docs/python.md", "docs/examples.md", "docs/functions.md", "docs/parallel.md", "docs/svd.md"],
    "How it works": ["docs/tour.md", "docs/design.md", "docs/csrc.md", "docs/balanced.md", "docs/bccoo.md", "docs/glossary.md", "docs/addformat.md", "docs/testing.md"],
    "Measurements": ["measurements/performance.md", "measurements/matrices.md", "measurements/tests.md", "measurements/experiments.md", "benchmarks/README.md"],
    "Project": ["CONTRIBUTING.md", "CHANGELOG.md", "contrib/petsc/README.md", "packaging/README.md"],
}
COMMENT = re.compile(r"^/\*(@|MC|E)\n(.*?)^ *(?:@|M|E)\*/\n(.*?)(?=^\{|;\n|\Z)", re.M | re.S)
SECTION = re.compile(r"^ *([A-Z][A-Za-z ]*):(.*)$")
ITEM = re.compile(r"^ *[+.\-] +(.*)$")


def paragraphs(lines):
    """A section's text: lists of PETSc's +, ., - become lists of Markdown, an item's further lines stay with it"""
    out, inlist = [], False
    for line in lines:
        item = ITEM.match(line)
        if item:
            name, dash, meaning = item.group(1).partition(" - ")
            name = name.strip()
            if dash and "`" not in name:
                name = f"`{name}`"
            out += ([""] if not inlist else []) + [f"- {name}" + (f": {meaning.strip()}" if dash else "")]
            inlist = True
        elif inlist and line.strip():
            out[-1] += " " + line.strip()
        else:
            inlist = inlist and not line.strip()
            out.append(line.strip())
    return out


def manual_page(kind, text, declaration, source):
    """The name and the page of one comment"""
    lines = text.splitlines()
    while not lines[0].strip():
        lines.pop(0)
    head = []
    while lines and lines[0].strip():
        head.append(lines.pop(0).strip())
    parts = [part.strip() for part in " ".join(head).split(" - ")]
    name, summary = parts[0], parts[-1]
    seealso = ""
    out = [f"# {name}", "", summary[0].upper() + summary[1:] + ".", ""]
    if kind == "@":
        out += ["```c", re.sub(r"\s+", " ", declaration).strip() + ";", "```", ""]
    elif len(parts) > 2 or kind == "MC":
        out += [f"*{' - '.join(parts[1:-1])}*" if len(parts) > 2 else "", ""]
    section = []
    for line in lines + ["End:"]:
        if line.startswith(".seealso:"):
            seealso = line.partition(":")[2]
        elif seealso and not SECTION.match(line):
            seealso += " " + line.strip()
        elif SECTION.match(line):
            out += paragraphs(section)
            title, rest = SECTION.match(line).groups()
            section = []
            if title == "Level":
                out += ["", f"**Level:** {rest.strip()}", ""]
            elif title != "End":
                out += ["", f"## {title}", ""]
        else:
            section.append(line)
    if kind == "E":
        out += ["", "## Definition", "", "```c", declaration.strip() + ";", "```"]
    if seealso:
        out += ["", "## See also", "", seealso.strip()]
    out += ["", f"*{source}*"]
    return name, "\n".join(out) + "\n"


def manual_pages():
    pages = {}
    for file in sorted([*ROOT.glob("include/*.h"), *ROOT.glob("src/**/*.c")]):
        text = file.read_text()
        comments = COMMENT.findall(text)
        if len(comments) != len(re.findall(r"^/\*(?:@|MC|E)\n", text, re.M)):
            sys.exit(f"site: a manual page in {file} does not end as it should")
        for kind, text, declaration in comments:
            name, page = manual_page(kind, text, declaration, file.relative_to(ROOT))
            if name in pages:
                sys.exit(f"site: two manual pages of {name}")
            pages[name] = page
    for name, page in pages.items():
        # names of other pages become links, except in code
        linked = re.sub(r"`(\w+)(\(\))?`", lambda m: f"[`{m.group(1)}{m.group(2) or ''}`]({m.group(1)}.md)" if m.group(1) in pages and m.group(1) != name else m.group(0), page)
        (PAGES / "manual").mkdir(parents=True, exist_ok=True)
        (PAGES / f"manual/{name}.md").write_text(linked)
    index = ["# Manual pages", ""] + [f"- [`{name}`]({name}.md): {page.splitlines()[2]}" for name, page in sorted(pages.items())]
    (PAGES / "manual/index.md").write_text("\n".join(index) + "\n")
    return sorted(pages)


def copy_page(name, known):
    """A page of the repository, with links to what is no page as text"""
    source, target = ROOT / name, PAGES / name

    def link(match):
        text, address = match.groups()
        path = address.partition("#")[0]
        if not path or re.match(r"\w+:", address):
            return match.group(0)
        place = os.path.normpath(os.path.join(os.path.dirname(name), path))
        if place in known:
            return match.group(0)
        if re.search(r"\.(svg|png)$", place) and (ROOT / place).exists():
            (PAGES / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / place, PAGES / place)
            return match.group(0)
        if not (ROOT / place).exists():
            sys.exit(f"site: {name} links to {address}, which is not there")
        return text
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", link, source.read_text()))


def main():
    shutil.rmtree(PAGES, ignore_errors=True)
    names = ["README.md"] + [name for part in GUIDES.values() for name in part if (ROOT / name).exists()]
    for name in names:
        copy_page(name, set(names))
    manual = manual_pages()
    if "--check" in sys.argv:
        print(f"site: {len(names)} pages, {len(manual)} manual pages")
        return
    nav = ["  - README.md"]
    for part, pages in GUIDES.items():
        nav += [f"  - {part}:"] + [f"      - {name}" for name in pages if name in names]
    nav += ["  - Manual pages:", "      - manual/index.md"] + [f"      - {name}: manual/{name}.md" for name in manual]
    configuration = PAGES.with_suffix(".yml")
    configuration.write_text("\n".join([
        "site_name: petsccsrc",
        f"docs_dir: {PAGES}",
        f"site_dir: {SITE}",
        "use_directory_urls: false",
        "theme: {name: material, font: false, features: [navigation.tabs, search.highlight]}",
        "plugins: [search]",
        "markdown_extensions: [tables, fenced_code, {toc: {permalink: false}}]",
        "validation: {links: {anchors: warn, not_found: warn}}",
        "nav:", *nav]) + "\n")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(configuration)], check=True)
    print(f"site: {len(names)} pages, {len(manual)} manual pages: {SITE}/index.html")


main()
