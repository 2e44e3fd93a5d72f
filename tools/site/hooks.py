"""Hooks of mkdocs: pages that are made at the build, files that pages link to, figures, and fenced blocks.

The pages are written for GitHub: links lead anywhere in the repository, and a word behind the language of a block is
the name of a file.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from tools.site.figures import draw_figures, show_figures
from tools.site.references import command_reference, spec_reference

ROOT = Path(__file__).parents[2]
_ROOT_PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
_REPOSITORY, _FIGURES = "repository", "figures"
_LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )(?![a-z]+:|#)([^)\s#]+)", re.MULTILINE)
_FENCE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)
_BLOCK = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/, the references, what pages link to in the repository, and their figures."""
    for source, page in _ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    files.append(File.generated(config, "commands.md", content=command_reference()))
    files.append(File.generated(config, "spec.md", content=spec_reference()))
    for path in sorted(_linked(files)):
        uri = _site_uri(path)
        if (ROOT / path).is_dir():
            files.append(File.generated(config, uri, content=_listing(path)))
        else:
            files.append(File.generated(config, uri, content=(ROOT / path).read_bytes()))
    figures: dict[str, str] = {}
    for file in files.documentation_pages():
        figures.update(draw_figures(file.content_string))
    for name, svg in figures.items():
        files.append(File.generated(config, f"{_FIGURES}/{name}", content=svg))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs'
    """Lead links to their places in the site, show figures, and make the names of files titles of their blocks."""
    place = page.file.src_uri
    here = posixpath.dirname(place) or "."

    def led(link: re.Match[str]) -> str:
        target = _site_uri(_repository_path(place, link[2]))
        return f"{link[1]}{posixpath.relpath(target, here)}"

    parts = _BLOCK.split(markdown)
    prose = [part if part.startswith("```") else _LINK.sub(led, part) for part in parts]
    shown = show_figures("".join(prose), posixpath.relpath(_FIGURES, here))
    return _FENCE.sub(_titled, shown)


def _titled(fence: re.Match[str]) -> str:
    language, name = fence[1], fence[2]
    return f"```{language}" if language == "text" else f'```{language} title="{name}"'


def _linked(files: Files) -> Iterator[str]:
    """Yield the files and folders of the repository that pages link to, and those in these folders' listings."""
    found: set[str] = set()
    for file in files.documentation_pages():
        if file.src_uri.startswith(_REPOSITORY):
            continue
        for part in _BLOCK.split(file.content_string):
            links = () if part.startswith("```") else _LINK.finditer(part)
            found |= {_repository_path(file.src_uri, link[2]) for link in links}
    outside = {path for path in found if _site_uri(path).startswith(f"{_REPOSITORY}/")}
    for folder in [path for path in outside if (ROOT / path).is_dir()]:
        outside |= set(_files_in(folder))
    yield from outside


def _repository_path(page: str, link: str) -> str:
    """Return what a link of a page leads to, as a path from the root of the repository."""
    if page in _ROOT_PAGES.values():
        folder = ""
    elif page.startswith(f"{_REPOSITORY}/"):
        folder = posixpath.dirname(page.removeprefix(f"{_REPOSITORY}/"))
    else:
        folder = posixpath.join("docs", posixpath.dirname(page))
    return posixpath.normpath(posixpath.join(folder, link))


def _site_uri(path: str) -> str:
    """Return where a file or folder of the repository is in the sources of the site."""
    if path in _ROOT_PAGES:
        return _ROOT_PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{_REPOSITORY}/{path}/index.md" if (ROOT / path).is_dir() else f"{_REPOSITORY}/{path}"


def _files_in(folder: str) -> Iterator[str]:
    """Yield the apps of a folder of examples, their tests and their descriptions."""
    for path in sorted((ROOT / folder).glob("**/*")):
        if path.suffix in (".yaml", ".md", ".py") and not set(path.parts) & {
            "data",
            "out",
            ".streamapp",
            "__pycache__",
        }:
            yield str(PurePosixPath(path.relative_to(ROOT)))


def _listing(folder: str) -> str:
    links = (f"* [{posixpath.relpath(path, folder)}]({posixpath.relpath(path, folder)})" for path in _files_in(folder))
    return f"# {folder.capitalize()}\n\n" + "\n".join(links) + "\n"
