"""A wave step by step on the page: `wb.step`'s result as a notebook shows it."""

from workbench.views.stepper import widget as widget
