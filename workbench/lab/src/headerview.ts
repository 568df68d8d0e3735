/**
 * A header of the tile library or of HIP, to read.
 */

import { cppLanguage } from '@codemirror/lang-cpp';
import { EditorState, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import { Decoration, EditorView, lineNumbers, type DecorationSet } from '@codemirror/view';
import { jupyterHighlightStyle, jupyterTheme } from '@jupyterlab/codemirror';
import { syntaxHighlighting } from '@codemirror/language';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import type { IHeader } from './source';

const setLine = StateEffect.define<number>();

/** The requested line. */
const shownLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setLine)) {
        const builder = new RangeSetBuilder<Decoration>();
        const { from } = transaction.state.doc.line(effect.value);
        builder.add(from, from, Decoration.line({ class: 'jp-hipkittens-headerLine' }));
        return builder.finish();
      }
    }
    return marks;
  },
  provide: field => EditorView.decorations.from(field)
});

export class HeaderView extends Widget {
  constructor(
    readonly header: IHeader,
    trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-hipkittens-Header');
    this.node.setAttribute('aria-label', trans.__('Header %1, to read', header.file));
    this.view = new EditorView({
      parent: this.node,
      state: EditorState.create({
        doc: header.text,
        extensions: [
          lineNumbers(),
          cppLanguage,
          syntaxHighlighting(jupyterHighlightStyle),
          jupyterTheme,
          shownLine,
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ 'aria-label': trans.__('Text of %1', header.file) })
        ]
      })
    });
  }

  /** Shows a line, and puts the cursor there. */
  goTo(line: number): void {
    const { doc } = this.view.state;
    const { from } = doc.line(Math.min(Math.max(line, 1), doc.lines));
    this.view.dispatch({
      selection: { anchor: from },
      effects: [setLine.of(doc.lineAt(from).number), EditorView.scrollIntoView(from, { y: 'center' })]
    });
    this.view.focus();
  }

  dispose(): void {
    if (!this.isDisposed) {
      this.view.destroy();
      super.dispose();
    }
  }

  private readonly view: EditorView;
}
