/**
 * The kernel's services for a cell's C++ besides compiling it: formatting, and finding where a name is defined.
 */

import { EditorSelection } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import type { CodeCell } from '@jupyterlab/cells';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';

import { offsetOf } from './diagnostics';
import type { KernelLine } from './kernel';

/** Where a name is defined: in the cell, or in a header with its text; empty if unknown. */
export interface IDefinition {
  line?: number;
  column?: number;
  file?: string;
  text?: string;
}

/** A header's text, with the line to look at. */
export interface IHeader {
  file: string;
  text: string;
  line: number;
}

function editorOf(cell: CodeCell): EditorView | null {
  return (cell.editor as CodeMirrorEditor | null)?.editor ?? null;
}

/**
 * Formats a cell as one change, which Ctrl+Z undoes; rejects with the kernel's message.
 */
export async function formatCell(cell: CodeCell, line: KernelLine): Promise<void> {
  const view = editorOf(cell);
  if (!view) {
    return;
  }
  const before = view.state.doc.toString();
  const { text } = await line.ask<{ text: string }>('format', { text: before });
  // Text typed in the meantime must not be lost to an older one.
  if (view.state.doc.toString() !== before || text === before) {
    return;
  }
  const row = view.state.doc.lineAt(view.state.selection.main.head);
  const changes = view.state.changes(differing(before, text));
  view.dispatch({ changes, userEvent: 'input.format' });
  const there = view.state.doc.line(Math.min(row.number, view.state.doc.lines));
  view.dispatch({ selection: EditorSelection.cursor(there.to), scrollIntoView: true });
  view.focus();
}

/**
 * The change from one text to another, without the parts that both begin and end with.
 */
export function differing(before: string, after: string): { from: number; to: number; insert: string } {
  let from = 0;
  const most = Math.min(before.length, after.length);
  while (from < most && before[from] === after[from]) {
    from++;
  }
  let end = 0;
  while (end < most - from && before[before.length - 1 - end] === after[after.length - 1 - end]) {
    end++;
  }
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}

/**
 * Goes to the definition of the name at the cursor: in the cell, or returns the header to show.
 *
 * @returns the header; null if the cursor is there already; undefined if the name is unknown.
 */
export async function goToDefinition(cell: CodeCell, line: KernelLine): Promise<IHeader | null | undefined> {
  const view = editorOf(cell);
  if (!view) {
    return null;
  }
  const { doc, selection } = view.state;
  const row = doc.lineAt(selection.main.head);
  const found = await line.ask<IDefinition>('definition', {
    text: doc.toString(),
    line: row.number - 1,
    column: selection.main.head - row.from
  });
  if (found.line === undefined) {
    return undefined;
  }
  if (found.file !== undefined && found.text !== undefined) {
    return { file: found.file, text: found.text, line: found.line };
  }
  const place = offsetOf(view.state.doc, [found.line, found.column ?? 1]);
  view.dispatch({
    selection: EditorSelection.cursor(place),
    effects: EditorView.scrollIntoView(place, { y: 'nearest' })
  });
  view.focus();
  return null;
}
