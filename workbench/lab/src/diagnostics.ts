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
import { EditorView, keymap, showTooltip, tooltips, type Tooltip } from '@codemirror/view';

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

/** Worst first. */
const SEVERITIES = ['error', 'warning', 'info'] as const;

function severityOf(finding: IFinding): (typeof SEVERITIES)[number] {
  return finding.severity === 'error' || finding.severity === 'warning' ? finding.severity : 'info';
}

/**
 * The editor's diagnostics of a cell's findings, sorted by place, and the worst first at one place.
 */
export function toDiagnostics(doc: Text, findings: readonly IFinding[]): Diagnostic[] {
  return findings
    .map(finding => {
      const { from, to } = rangeOf(doc, finding);
      const text = textOf(finding);
      const diagnostic: Diagnostic = {
        from,
        to,
        severity: severityOf(finding),
        message: [`${text.cause}${text.rest}${text.option}`, ...finding.notes].join('\n'),
        renderMessage: view => describe(finding, view),
        source: finding.source === 'compiler' ? undefined : finding.source
      };
      if (finding.fixits.length) {
        diagnostic.actions = [fixAction(doc, finding.fixits, finding)];
      }
      return diagnostic;
    })
    .sort(
      (a, b) =>
        a.from - b.from ||
        SEVERITIES.indexOf(a.severity as 'error') - SEVERITIES.indexOf(b.severity as 'error') ||
        a.to - b.to
    );
}

/**
 * A finding's text in parts: its cause, what follows it, and the flag that controls it.
 *
 * The compiler begins with the cause. A launch's finding is of a kind, such as "out of bounds", and its text may begin
 * with it.
 */
export function textOf(finding: IFinding): { cause: string; rest: string; option: string } {
  const { message, option, source } = finding;
  if (source === 'compiler' || !option || option === 'note') {
    const end = message.indexOf('\n');
    const cause = end < 0 ? message : message.slice(0, end);
    return {
      cause,
      rest: message.slice(cause.length),
      option: option && option !== 'note' ? ` [${option}]` : ''
    };
  }
  const begins = message.toLowerCase().startsWith(option);
  const cause = option[0].toUpperCase() + option.slice(1);
  return { cause, rest: begins ? message.slice(option.length) : `: ${message}`, option: '' };
}

function describe(finding: IFinding, view: EditorView): HTMLElement {
  const dom = document.createElement('div');
  dom.className = 'jp-hipkittens-Finding';
  keepToEditor(dom, view);
  const { cause, rest, option } = textOf(finding);
  const bold = document.createElement('b');
  bold.append(...withCode(cause));
  const small = finding.notes.map(note => {
    const line = document.createElement('small');
    line.append(...withCode(note));
    return line;
  });
  dom.append(bold, ...withCode(`${rest}${option}`), ...small);
  return dom;
}

/** Text with its parts in backticks as code. */
function withCode(text: string): (Node | string)[] {
  return text.split('`').map((part, index) => {
    if (index % 2 === 0) {
      return part;
    }
    const code = document.createElement('code');
    code.textContent = part;
    return code;
  });
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
    item.append(diagnostic.renderMessage?.(view) ?? diagnostic.message);
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

/** Pixels of a tooltip's frame, left and right together. */
const FRAME = 24;

/**
 * Makes the content of a tooltip no wider than the editor; JupyterLab puts tooltips on the page itself.
 */
export function keepToEditor(dom: HTMLElement, view: EditorView): void {
  dom.style.maxWidth = `${Math.min(640, view.dom.clientWidth - FRAME)}px`;
}

/** A tooltip stays on its cell: over the sidebar it would cover the button that the user goes for. */
function spaceOf(view: EditorView): { left: number; top: number; right: number; bottom: number } {
  const { left, right } = view.dom.getBoundingClientRect();
  return { left, right, top: 0, bottom: window.innerHeight };
}

/**
 * Gutter marks and hover text; an edit clears the findings, since they are about other text then.
 */
export function diagnosticsExtension(): Extension {
  return [
    tooltips({ tooltipSpace: spaceOf }),
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
