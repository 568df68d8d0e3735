/**
 * Findings of the compiler while the user types: the kernel checks the cell in the background, once the keys rest.
 */

import type { Extension } from '@codemirror/state';
import { ViewPlugin, type EditorView, type ViewUpdate } from '@codemirror/view';

import type { CellRecord } from './cells';
import { showFindings } from './diagnostics';
import { kernelLine, type KernelLine } from './kernel';
import { isHipkittens } from './magic';
import { isCurrent, type IFinding } from './payload';
import type { Preferences } from './preferences';

/** Milliseconds without a key after which the cell is read. */
export const REST = 400;

/** The compiler's findings in a cell's text; null if there is no kernel to ask. */
export type Check = (text: string) => Promise<readonly IFinding[] | null>;

/**
 * Asks the kernel of a cell's notebook, once it has the workbench.
 */
export function checking(record: CellRecord): Check {
  return async text => {
    if (!record.session) {
      return null;
    }
    const line = kernelLine(record.session);
    await opened(line);
    return (await line.ask<{ diagnostics: IFinding[] }>('check', { text })).diagnostics;
  };
}

function opened(line: KernelLine): Promise<void> {
  return new Promise(resolve => {
    const look = () => {
      if (line.isOpen) {
        line.changed.disconnect(look);
        resolve();
      }
    };
    line.changed.connect(look);
    look();
  });
}

/**
 * Checks a cell after an edit. One question is under way at a time: text typed in the meantime is checked after it.
 */
export function typingExtension(record: CellRecord, preferences: Preferences, check: Check): Extension {
  class Typing {
    constructor(private readonly view: EditorView) {}

    update(update: ViewUpdate): void {
      if (update.docChanged) {
        window.clearTimeout(this.timer);
        this.timer = window.setTimeout(() => void this.look(), REST);
      }
    }

    destroy(): void {
      window.clearTimeout(this.timer);
      this.destroyed = true;
    }

    private async look(): Promise<void> {
      const text = this.view.state.doc.toString();
      if (this.asking || !preferences.typing || !isHipkittens(text)) {
        return;
      }
      const known = record.payload;
      if (known && isCurrent(known, text)) {
        // Its state when it ran, of which more is known.
        showFindings(this.view, known.diagnostics);
        return;
      }
      this.asking = true;
      const found = await check(text).catch(() => null);
      this.asking = false;
      if (this.destroyed) {
        return;
      }
      if (this.view.state.doc.toString() !== text) {
        void this.look();
      } else if (found) {
        showFindings(this.view, found);
      }
    }

    private timer = 0;
    private asking = false;
    private destroyed = false;
  }
  return ViewPlugin.fromClass(Typing);
}
