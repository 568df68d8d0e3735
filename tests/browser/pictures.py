"""Makes docs/images/ from the screenshots of the browser tests: palette PNGs, small enough for a README.

python -m pytest tests/browser && python tests/browser/pictures.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
IMAGES = ROOT / "docs" / "images"
LIMIT = 150_000
"""Bytes of a picture."""

PICTURES = (
    "highlighting",
    "squiggle",
    "heat",
    "isa",
    "sidebar",
    "dashboard",
    "roofline",
    "dark",
)


def shrink(source: Path, target: Path) -> int:
    """Writes a picture with the most colours that the limit allows; returns its size in bytes."""
    with Image.open(source) as opened:
        picture = opened.convert("RGB")
    for colours in (256, 128, 64, 32):
        picture.quantize(colours, dither=Image.Dither.NONE).save(target, optimize=True)
        if target.stat().st_size <= LIMIT:
            break
    return target.stat().st_size


def main() -> int:
    missing = [name for name in PICTURES if not (SCREENSHOTS / f"{name}.png").is_file()]
    if missing:
        print(f"no screenshots of {', '.join(missing)} in {SCREENSHOTS}; run the browser tests first")
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        size = shrink(SCREENSHOTS / f"{name}.png", IMAGES / f"{name}.png")
        print(f"{name}: {size / 1000:.0f} kB")
        if size > LIMIT:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
