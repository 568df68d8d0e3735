"""The gallery as a notebook shows it: each figure's picture at three widths, on a light and a dark page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from workbench.errors import UsageError
from workbench.views.gallery.samples import SAMPLES, Sample
from workbench.views.markup import block, bold, tag
from workbench.views.picture import svg_of

WIDTHS = (500, 900, 1400)
"""Pixels: beside another panel, a notebook's column, a whole screen."""

THEMES = {"light": "#ffffff", "dark": "#111111"}
"""Backgrounds of JupyterLab's themes."""

# Both pages show one picture, so that a saved gallery has it once. JupyterLab takes it out of what nobody has
# trusted.
_PAGE = Markup(
    '<div style="background:{};display:inline-block;vertical-align:top;margin:2px" role="img" '
    'aria-label="{}, {} px, {}"><svg width="{}" height="{:.0f}" viewBox="0 0 {} {}" style="display:block">'
    "{}</svg></div>"
)


class Gallery:
    """Pictures of figures, shown as a cell's last value."""

    def __init__(self, samples: Sequence[Sample], widths: Sequence[int]) -> None:
        self.samples = samples
        self.widths = widths

    def _repr_html_(self) -> str:
        return str(block(*map(self._sample, self.samples)))

    def _sample(self, sample: Sample) -> Markup:
        return tag(
            "div", tag("div", bold(sample.name)), *(Markup("").join(self._at(sample, w)) for w in self.widths)
        )

    def _at(self, sample: Sample, width: int) -> Iterator[Markup]:
        figure = sample.draw()
        figure.update_layout(width=width)
        drawn = svg_of(figure)
        _, _, wide, high = map(float, re.findall(r'viewBox="([^"]+)"', drawn)[0].split())
        key = f"wb-gallery-{sample.name}-{width}"
        whole = Markup(drawn.replace("<svg ", f'<svg id="{key}" ', 1))
        again = Markup('<use href="#{}"/>').format(key)
        for (theme, colour), picture in zip(THEMES.items(), (whole, again), strict=True):
            yield _PAGE.format(
                colour, sample.name, width, theme, width, width * high / wide, wide, high, picture
            )

    def __repr__(self) -> str:
        return "\n".join(sample.name for sample in self.samples)


def gallery(*names: str, widths: Sequence[int] = WIDTHS) -> Gallery:
    """Pictures of the package's figures at some widths, each on a light and a dark page.

    Args:
        names: prefixes of the samples' names, such as "card" for those of the dashboard; all samples if
            empty.
        widths: widths in pixels.

    Raises:
        UsageError: no sample's name begins so; the message lists them.
    """
    samples = [sample for sample in SAMPLES if not names or sample.name.startswith(names)]
    for name in names:
        if not any(sample.name.startswith(name) for sample in samples):
            names_text = ", ".join(sample.name for sample in SAMPLES)
            raise UsageError(f"gallery: no figure's name begins with {name!r}; there are {names_text}")
    return Gallery(samples, widths)
