"""Writes the front end's templates."""

from workbench.lab.templates import SOURCE, front_end

SOURCE.write_text(front_end(), encoding="utf-8")
