/**
 * Extensions of a cell's editor: only a check of its first line, and everything else while that line is ours.
 */

import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView, ViewPlugin, type ViewUpdate } from '@codemirror/view';

import type { CellRecord } from './cells';
import { diagnosticsExtension, showFindings } from './diagnostics';
import { heatExtension, setHeat } from './heat';
import { hoverExtension, type IHover } from './hover';
import { kernelLine } from './kernel';
import { hipkittens } from './language';
import { linksExtension, type SourceLinks } from './links';
import { hasKernels, isHipkittens } from './magic';
import { isCurrent, type ICellPayload, type IHeat } from './payload';
import type { Preferences } from './preferences';
import { sayOnce } from './problems';
import { signaturesExtension, type ISignatures } from './signatures';
import { checking, typingExtension } from './typing';

/** What editors share. */
export interface IServices {
  preferences: Preferences;
  links: SourceLinks;
}

/** Says above a cell's output that its text is another by now: a result is only about the text that ran. */
function markOutput(view: EditorView, payload: ICellPayload | null): void {
  const output = view.dom.closest('.jp-CodeCell')?.querySelector<HTMLElement>('.jp-Cell-outputArea');
  if (!output) {
    return;
  }
  if (payload && !isCurrent(payload, view.state.doc.toString())) {
    output.dataset.edited = 'The cell was edited after this result.';
  } else {
    delete output.dataset.edited;
  }
}

/**
 * Shows a cell's result in its editor, as long as the editor is there and the cell is a HipKittens cell.
 */
function resultView(record: CellRecord, preferences: Preferences): Extension {
  class ResultView {
    constructor(private readonly view: EditorView) {
      record.changed.connect(this.show, this);
      preferences.changed.connect(this.showHeat, this);
      // An editor takes no changes while it makes its plugins.
      queueMicrotask(() => this.show());
    }

    update(update: ViewUpdate): void {
      this.edited ||= update.docChanged;
      if (update.docChanged) {
        markOutput(this.view, record.payload);
      }
    }

    destroy(): void {
      this.destroyed = true;
      record.changed.disconnect(this.show, this);
      preferences.changed.disconnect(this.showHeat, this);
    }

    private show(): void {
      if (!this.destroyed) {
        const payload = record.payload;
        const current = payload !== null && isCurrent(payload, this.view.state.doc.toString());
        markOutput(this.view, payload);
        showFindings(this.view, current ? payload.diagnostics : []);
        this.heat = current ? payload.heat : null;
        this.edited = false;
        this.showHeat();
      }
    }

    private showHeat(): void {
      const shown = preferences.lineHeat ? this.heat : null;
      // After an edit line numbers are stale: the marks stay as they are, on the lines that they moved to.
      if (!this.destroyed && !(shown && this.edited)) {
        this.view.dispatch({
          effects: setHeat.of(shown && { heat: shown, measure: preferences.heatMeasure })
        });
      }
    }

    private heat: IHeat | null = null;
    private edited = false;
    private destroyed = false;
  }
  return ViewPlugin.fromClass(ResultView);
}

/**
 * The extension of one editor.
 *
 * @param record - the cell's record, null in editors of other kinds.
 * @param text - the document that the editor starts with.
 * @param services - what editors share.
 */
export function cellExtension(record: CellRecord | null, text: string, services: IServices): Extension {
  const { preferences, links } = services;
  const mode = new Compartment();
  const results: Extension = [
    diagnosticsExtension(),
    record ? [heatExtension(), resultView(record, preferences), linksExtension(record, links)] : [],
    record ? typingExtension(record, preferences, checking(record)) : [],
    EditorView.editorAttributes.of({ class: 'jp-hipkittens-editor' })
  ];
  const hovers = preferences.hover
    ? [
        hoverExtension(record && asking<IHover>(record, 'hover')),
        record ? signaturesExtension(asking<ISignatures>(record, 'signatures')) : []
      ]
    : [];
  const cpp: Extension = [hipkittens(), hovers, results];
  const inactive: Extension = [];
  // A Triton cell is Python, which JupyterLab knows.
  const wantedFor = (source: string) =>
    isHipkittens(source) ? cpp : hasKernels(source) ? results : inactive;
  return [
    mode.of(wantedFor(text)),
    EditorState.transactionExtender.of(transaction => {
      if (!transaction.docChanged) {
        return null;
      }
      const wanted = wantedFor(transaction.newDoc.toString());
      return mode.get(transaction.startState) === wanted ? null : { effects: mode.reconfigure(wanted) };
    })
  ];
}

/**
 * Asks the kernel of a cell's notebook about a place, if it is connected; a busy kernel answers when nobody looks any
 * more.
 */
function asking<T>(
  record: CellRecord,
  method: string
): (text: string, line: number, column: number) => Promise<T | null> {
  return async (text, line, column) => {
    const open = record.session && kernelLine(record.session);
    if (!open?.isOpen) {
      return null;
    }
    try {
      return await open.ask<T>(method, { text, line, column });
    } catch (error) {
      sayOnce(open, error);
      return null;
    }
  };
}
