/**
 * Findings of compiler and sanitizer as squiggles and gutter marks on the lines of the cell.
 */

import {
  diagnosticCount,
  forEachDiagnostic,
  lintGutter,
  nextDiagnostic,
  previousDiagnostic,
  setDiagnosticsEffect,
  setDiagnostics,
  type Action,
  type Diagnostic
} from '@codemirror/lint';
import {
  Annotation,
  EditorState,
  StateEffect,
  StateField,
  type Extension,
  type Text
} from '@codemirror/state';
import { EditorView, keymap, showTooltip, type Tooltip } from '@codemirror/view';

import type { IFinding, IFix, Position } from './payload';

/**
 * Place of a (line, column) in the document, kept inside it.
 */
export function offsetOf(doc: Text, [line, column]: Position): number {
  const row = doc.line(Math.min(Math.max(line, 1), doc.lines));
  // Columns count characters; the editor counts UTF-16 units.
  let offset = 0;
  let characters = Math.max(column, 1) - 1;
  while (characters > 0 && offset < row.length) {
    const unit = row.text.charCodeAt(offset);
    offset += unit >= 0xd800 && unit < 0xdc00 ? 2 : 1;
    characters--;
  }
  return row.from + Math.min(offset, row.length);
}

/**
 * The underlined range of a finding: its own, else the word at its place, else the whole line.
 */
export function rangeOf(doc: Text, finding: IFinding): { from: number; to: number } {
  const row = doc.line(Math.min(Math.max(finding.line, 1), doc.lines));
  const indent = row.text.length - row.text.trimStart().length;
  if (finding.line < 1 || finding.column < 1) {
    return { from: row.from + Math.min(indent, row.length), to: row.to };
  }
  const from = offsetOf(doc, [finding.line, finding.column]);
  if (finding.end_column > 0) {
    const to = offsetOf(doc, [finding.end_line || finding.line, finding.end_column]);
    if (to > from) {
      return { from, to };
    }
  }
  const rest = row.text.slice(from - row.from);
  const word = /^(?:\w+|<[^>]*>|"[^"]*"?|\S)/.exec(rest);
  if (word) {
    return { from, to: from + word[0].length };
  }
  // Past the end of the line, as where a semicolon is missing: its last character.
  return { from: Math.max(row.from, Math.min(from, row.to) - 1), to: Math.max(from, row.from) };
}

/** Marks a change that applied a fix, after which the other findings still stand. */
const appliedFix = Annotation.define<Diagnostic | 'keep'>();

function fixName(doc: Text, fix: IFix): string {
  const from = offsetOf(doc, fix.start);
  const to = offsetOf(doc, fix.end);
  const old = doc.sliceString(from, to).trim();
  const text = fix.text.trim();
  if (!old) {
    return `Insert '${text}'`;
  }
  return text ? `Replace '${shorten(old)}' by '${shorten(text)}'` : `Remove '${shorten(old)}'`;
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

/**
 * The editor's diagnostics of a cell's findings, sorted by place.
 */
export function toDiagnostics(doc: Text, findings: readonly IFinding[]): Diagnostic[] {
  return findings
    .map(finding => {
      const { from, to } = rangeOf(doc, finding);
      const option = finding.option ? ` [${finding.option}]` : '';
      const notes = finding.notes.map(note => `\n${note}`).join('');
      const diagnostic: Diagnostic = {
        from,
        to,
        severity:
          finding.severity === 'error' ? 'error' : finding.severity === 'warning' ? 'warning' : 'info',
        message: `${finding.message}${option}${notes}`,
        source: finding.source === 'compiler' ? undefined : finding.source
      };
      if (finding.fixits.length) {
        diagnostic.actions = [fixAction(doc, finding.fixits, finding)];
      }
      return diagnostic;
    })
    .sort((a, b) => a.from - b.from || a.to - b.to);
}

function fixAction(doc: Text, fixes: readonly IFix[], finding: IFinding): Action {
  const name = fixes.map(fix => fixName(doc, fix)).join(', ');
  return {
    name,
    apply(view: EditorView, from: number): void {
      // An earlier fix may have moved this one: its places are taken relative to the finding's own.
      const shift = from - rangeOf(doc, finding).from;
      view.dispatch({
        changes: fixes.map(fix => ({
          from: clamp(offsetOf(doc, fix.start) + shift, view),
          to: clamp(offsetOf(doc, fix.end) + shift, view),
          insert: fix.text
        })),
        annotations: appliedFix.of('keep'),
        userEvent: 'input.fix'
      });
      dropAt(view, diagnostic => diagnostic.actions?.some(action => action.name === name) ?? false);
    }
  };
}

function clamp(offset: number, view: EditorView): number {
  return Math.min(Math.max(offset, 0), view.state.doc.length);
}

function dropAt(view: EditorView, fixed: (diagnostic: Diagnostic) => boolean): void {
  const kept: Diagnostic[] = [];
  let dropped = false;
  forEachDiagnostic(view.state, (diagnostic, from, to) => {
    if (!dropped && fixed(diagnostic)) {
      dropped = true;
    } else {
      kept.push({ ...diagnostic, from, to });
    }
  });
  view.dispatch(setDiagnostics(view.state, kept));
}

/**
 * Shows findings, instead of those before; an empty list clears.
 */
export function showFindings(view: EditorView, findings: readonly IFinding[]): void {
  if (findings.length || diagnosticCount(view.state)) {
    view.dispatch(setDiagnostics(view.state, toDiagnostics(view.state.doc, findings)));
  }
}

const setShown = StateEffect.define<readonly Diagnostic[]>();

/** Findings whose text is shown although no pointer is on them, until the cursor or the text moves. */
const shownFindings = StateField.define<readonly Diagnostic[]>({
  create: () => [],
  update(shown, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setShown)) {
        return effect.value;
      }
    }
    return transaction.selection || transaction.docChanged ? [] : shown;
  },
  provide: field =>
    showTooltip.from(field, (shown): Tooltip | null =>
      shown.length
        ? { pos: shown[0].from, above: false, create: view => ({ dom: messages(view, shown) }) }
        : null
    )
});

function messages(view: EditorView, shown: readonly Diagnostic[]): HTMLElement {
  const dom = document.createElement('ul');
  dom.className = 'cm-tooltip-lint';
  for (const diagnostic of shown) {
    const item = document.createElement('li');
    item.className = `cm-diagnostic cm-diagnostic-${diagnostic.severity}`;
    item.textContent = diagnostic.message;
    for (const action of diagnostic.actions ?? []) {
      const button = document.createElement('button');
      button.className = 'cm-diagnosticAction';
      button.textContent = action.name;
      button.addEventListener('click', () => {
        action.apply(view, diagnostic.from, diagnostic.to);
        view.focus();
      });
      item.append(button);
    }
    dom.append(item);
  }
  return dom;
}

/**
 * Goes to the next or the previous finding, shows its text and has a screen reader read it.
 */
export function goToFinding(view: EditorView, forward: boolean): boolean {
  if (!(forward ? nextDiagnostic : previousDiagnostic)(view)) {
    return false;
  }
  const { from, to } = view.state.selection.main;
  const here: Diagnostic[] = [];
  forEachDiagnostic(view.state, (diagnostic, start, end) => {
    if (start === from && end === to) {
      here.push({ ...diagnostic, from: start, to: end });
    }
  });
  const text = here.map(diagnostic => `${diagnostic.severity}: ${diagnostic.message}`).join('\n');
  view.dispatch({ effects: [setShown.of(here), EditorView.announce.of(text)] });
  return true;
}

function closeMessages(view: EditorView): boolean {
  if (!view.state.field(shownFindings).length) {
    return false;
  }
  view.dispatch({ effects: setShown.of([]) });
  return true;
}

/**
 * Gutter marks and hover text; an edit clears the findings, since they are about other text then.
 */
export function diagnosticsExtension(): Extension {
  return [
    lintGutter(),
    shownFindings,
    keymap.of([{ key: 'Escape', run: closeMessages }]),
    EditorState.transactionExtender.of(transaction =>
      transaction.docChanged && !transaction.annotation(appliedFix) && diagnosticCount(transaction.startState)
        ? { effects: setDiagnosticsEffect.of([]) }
        : null
    )
  ];
}
