"""Bytes of a text as batches, which depend only on the seed and the step, so that a run can continue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from workbench.errors import MissingFile, UnreadableFile, UsageError
from workbench.training.models import MASK

TEXT = Path(__file__).with_name("text.txt")
"""The included text: written for this package, under its licence."""

HIDDEN = 0.15
"""Fraction of the words that a masked model has to guess, as for BERT."""


@dataclass(frozen=True)
class Text:
    """A text as bytes: the first nine tenths for training, the rest for evaluation.

    Attributes:
        learn, held: training and evaluation bytes, int64 [bytes].
        span, batch: tokens of a sequence and sequences of a step.
        masked: True to hide words, instead of asking for the next byte.
    """

    learn: torch.Tensor
    held: torch.Tensor
    span: int
    batch: int
    masked: bool

    @classmethod
    def read(cls, path: Path | str | None, span: int, batch: int, masked: bool) -> Text:
        """Reads a file, or the included text.

        Raises:
            MissingFile, UnreadableFile: the file cannot be read.
            UsageError: the text is too short.
        """
        file = Path(path or TEXT)
        try:
            data = file.read_bytes()
        except FileNotFoundError:
            raise MissingFile(f"train: there is no file {str(file)!r}; expected a text for --text") from None
        except OSError as error:
            raise UnreadableFile(f"train: {str(file)!r} cannot be read: {error}") from error
        if len(data) < 10 * (span + 2):
            raise UsageError(
                f"train: {str(file)!r} has {len(data):,} bytes; expected {10 * (span + 2):,} or more for "
                f"sequences of {span} bytes"
            )
        tokens = torch.tensor(list(data))
        cut = len(tokens) * 9 // 10
        return cls(tokens[:cut], tokens[cut:], span, batch, masked)

    def at(self, step: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and labels of a step: int64 [batch, span]; -100 for tokens without a label."""
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        starts = torch.randint(len(self.learn) - self.span, (self.batch,), generator=generator)
        return self._asked(torch.stack([self.learn[i : i + self.span] for i in starts.tolist()]), generator)

    def evaluation(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Inputs and labels of the held-out text, at most four batches."""
        rows = self.held[: len(self.held) // self.span * self.span].view(-1, self.span)
        generator = torch.Generator().manual_seed(1)
        return [self._asked(part, generator) for part in rows.split(self.batch)[:4]]

    def _asked(self, tokens: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.masked:
            return tokens, tokens
        # Whole words: a single byte of a word is easily guessed from the others.
        words = ((tokens == ord(" ")) | (tokens == ord("\n"))).cumsum(1)
        hidden = (torch.rand(words.shape, generator=generator) < HIDDEN).gather(1, words)
        hidden[:, 0] |= ~hidden.any(1)
        return tokens.masked_fill(hidden, MASK), tokens.masked_fill(~hidden, -100)
