/**
 * The arrow beside the rows of the ISA view: from a wait to the load that it waits for.
 */

import { StateEffect, StateField } from '@codemirror/state';
import { GutterMarker, gutter } from '@codemirror/view';

export const setArrow = StateEffect.define<IArrow | null>();

/** From a wait to the load that it waits for, as lines of the document. */
export interface IArrow {
  wait: number;
  load: number;
}

/** The arrow beside the rows: of the wait under the pointer. */
export const arrowField = StateField.define<IArrow | null>({
  create: () => null,
  update(arrow, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setArrow)) {
        return effect.value;
      }
    }
    return transaction.docChanged ? null : arrow;
  }
});

class ArrowMarker extends GutterMarker {
  constructor(
    readonly part: 'wait' | 'load' | 'between',
    readonly up: boolean
  ) {
    super();
  }

  eq(other: ArrowMarker): boolean {
    return other.part === this.part && other.up === this.up;
  }

  toDOM(): Node {
    const dom = document.createElement('span');
    const corner = this.up ? { wait: '└─', load: '┌▸' } : { wait: '┌─', load: '└▸' };
    dom.textContent = this.part === 'between' ? '│' : corner[this.part];
    dom.title = this.part === 'load' ? 'what the wait is for' : '';
    return dom;
  }
}

export const arrowGutter = gutter({
  class: 'jp-hipkittens-IsaArrow',
  lineMarker: (view, block) => {
    const arrow = view.state.field(arrowField);
    const line = view.state.doc.lineAt(block.from).number - 1;
    if (!arrow || line < Math.min(arrow.wait, arrow.load) || line > Math.max(arrow.wait, arrow.load)) {
      return null;
    }
    const part = line === arrow.wait ? 'wait' : line === arrow.load ? 'load' : 'between';
    return new ArrowMarker(part, arrow.load < arrow.wait);
  },
  lineMarkerChange: update => update.startState.field(arrowField) !== update.state.field(arrowField)
});
