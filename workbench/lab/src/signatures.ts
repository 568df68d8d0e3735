/**
 * The signature of the call being typed, above the cursor: the overload that fits, with the argument marked.
 */

import { StateEffect, StateField, type EditorState, type Extension } from '@codemirror/state';
import { EditorView, ViewPlugin, keymap, showTooltip, type Tooltip, type ViewUpdate } from '@codemirror/view';

import { documentationNodes } from './documentation';

/** Milliseconds without a key after which the kernel is asked. */
export const REST = 150;

/** A function that a call may mean, as `workbench.lab.clangd.Signature`. */
export interface ISignature {
  label: string;
  parameters: string[];
  doc: string;
}

/** The functions that a call may mean, best fit first, and the argument's number, from 0. */
export interface ISignatures {
  active: number;
  signatures: ISignature[];
}

/** Asks the kernel about the call around a place, counted from 0; null if nothing is known. */
export type AskSignatures = (text: string, line: number, column: number) => Promise<ISignatures | null>;

/**
 * The tooltip's content.
 */
export function describeSignatures({ active, signatures }: ISignatures): HTMLElement {
  const [first] = signatures;
  const dom = document.createElement('div');
  dom.className = 'jp-hipkittens-Hover jp-hipkittens-Signature';
  const line = document.createElement('pre');
  const parameter = first.parameters[active] ?? '';
  const at = parameter ? placeOf(first, active) : -1;
  if (at < 0) {
    line.textContent = first.label;
  } else {
    const marked = document.createElement('strong');
    marked.textContent = parameter;
    line.append(first.label.slice(0, at), marked, first.label.slice(at + parameter.length));
  }
  dom.append(line, ...documentationNodes(first.doc.split('\n\n', 1)[0]));
  if (signatures.length > 1) {
    const foot = document.createElement('small');
    foot.textContent = `${signatures.length - 1} more of this name`;
    dom.append(foot);
  }
  return dom;
}

/** Range of a parameter in its label: after those before it. */
function placeOf({ label, parameters }: ISignature, index: number): number {
  let at = label.indexOf('(');
  for (const before of parameters.slice(0, index)) {
    at = label.indexOf(before, at) + before.length;
  }
  return label.indexOf(parameters[index], at);
}

const setTooltip = StateEffect.define<Tooltip | null>();

const shown = StateField.define<Tooltip | null>({
  create: () => null,
  update(tooltip, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setTooltip)) {
        return effect.value;
      }
    }
    return tooltip && { ...tooltip, pos: transaction.changes.mapPos(tooltip.pos) };
  },
  provide: field => showTooltip.from(field)
});

/** Whether a change typed the start of a call or of its next argument. */
function beginsArgument(update: ViewUpdate): boolean {
  let begins = false;
  update.changes.iterChanges((_fromA, _toA, _fromB, _toB, inserted) => {
    begins ||= /[(,]/.test(inserted.toString());
  });
  return begins && update.transactions.some(transaction => transaction.isUserEvent('input'));
}

/**
 * Asks while the user types a call; Escape hides the answer.
 */
export function signaturesExtension(ask: AskSignatures): Extension {
  class Signatures {
    constructor(private readonly view: EditorView) {}

    update(update: ViewUpdate): void {
      const open = update.state.field(shown) !== null;
      if (
        (update.docChanged && beginsArgument(update)) ||
        (open && (update.docChanged || update.selectionSet))
      ) {
        window.clearTimeout(this.timer);
        this.timer = window.setTimeout(() => void this.look(), REST);
      }
    }

    destroy(): void {
      window.clearTimeout(this.timer);
      this.destroyed = true;
    }

    private async look(): Promise<void> {
      const state: EditorState = this.view.state;
      const { head } = state.selection.main;
      const line = state.doc.lineAt(head);
      const answer =
        line.number > 1 ? await ask(state.doc.toString(), line.number - 1, head - line.from) : null;
      // Text typed in the meantime asks again.
      if (!this.destroyed && this.view.state.doc.eq(state.doc)) {
        const tooltip: Tooltip | null = answer?.signatures.length
          ? { pos: head, above: true, create: () => ({ dom: describeSignatures(answer) }) }
          : null;
        this.view.dispatch({ effects: setTooltip.of(tooltip) });
      }
    }

    private timer = 0;
    private destroyed = false;
  }
  const hide = (view: EditorView): boolean => {
    const open = view.state.field(shown) !== null;
    if (open) {
      view.dispatch({ effects: setTooltip.of(null) });
    }
    return open;
  };
  return [
    shown,
    ViewPlugin.fromClass(Signatures),
    keymap.of([{ key: 'Escape', run: hide }]),
    EditorView.domEventHandlers({ blur: (_event, view) => void setTimeout(() => hide(view)) })
  ];
}
