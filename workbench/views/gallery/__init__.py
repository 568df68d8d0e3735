"""Every figure that the package draws, from results stored with it, so that the numbers never change.

`notebooks/20_gallery.ipynb` shows them at three widths on light and dark pages; the browser tests look for
text that overlaps or is cut, and compare them with stored pictures.
"""

from workbench.views.gallery.page import gallery
from workbench.views.gallery.samples import SAMPLES, Sample

__all__ = ["SAMPLES", "Sample", "gallery"]
