"""The comment at the top of a C++ file that says how its kernel is launched, as a cell's line does.

    // %%hipkittens scale --launch "scale[4, 64]" --inputs "dict(x=torch.ones(256), by=2.0)" \\
    //     --outputs x --reference "lambda x, by: x * by"
"""

from __future__ import annotations

from pathlib import Path

MARK = "%%hipkittens"
SUFFIXES = (".cpp", ".hip", ".cu", ".cc", ".cxx")


def says_its_launch(path: Path) -> bool:
    """True for a C++ file with such a comment, or with a TOML file beside it."""
    if path.suffix not in SUFFIXES or not path.is_file():
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    return bool(comment_line(text)) or path.with_suffix(".toml").is_file()


def comment_line(text: str) -> str:
    """The options in the comments at the top of a source: what follows `// %%hipkittens`; "" without it."""
    words: list[str] = []
    for row in text.splitlines():
        comment = row.strip()
        if words and not words[-1].endswith("\\"):
            break
        if comment and not comment.startswith("//"):
            break
        body = comment.lstrip("/").strip()
        if words or body.startswith(f"{MARK} "):
            words.append(body.removeprefix(MARK).strip())
    return " ".join(part.removesuffix("\\").strip() for part in words)
