/**
 * The rows of the ISA view: their colours, folds and highlights.
 */

import { foldGutter, foldService } from '@codemirror/language';
import { RangeSetBuilder, StateEffect, StateField, type Extension } from '@codemirror/state';
import { Decoration, EditorView, ViewPlugin, type DecorationSet } from '@codemirror/view';

import type { ColumnName, IDocument, IListing } from './isa';
import { arrowGutter } from './isaarrows';
import { columnsExtension, type IShown } from './isacolumns';
import { colouredLine } from './links';

/** Points at rows, as lines of the document. */
export const setRows = StateEffect.define<readonly number[]>();

/** Rows that a cell's line points at. */
export const pointedRows = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setRows)) {
        const doc = transaction.newDoc;
        return Decoration.set(effect.value.map(line => linkedRow.range(doc.line(line + 1).from)));
      }
    }
    return marks;
  },
  provide: field => EditorView.decorations.from(field)
});

const linkedRow = Decoration.line({ class: 'jp-hipkittens-linked' });
const addedRow = Decoration.line({ class: 'jp-hipkittens-added' });
const removedRow = Decoration.line({ class: 'jp-hipkittens-removed' });
const renamedRow = Decoration.line({ class: 'jp-hipkittens-renamed' });
const headingRow = Decoration.line({ class: 'jp-hipkittens-heading' });
const neverRow = Decoration.line({ class: 'jp-hipkittens-never' });

/**
 * What is static about a document: decorations, gutters and folds.
 *
 * @param columns - the visible ones; hidden ones are not drawn at all.
 */
export function decorate(shown: IShown, columns: readonly ColumnName[]): Extension {
  const { document: doc, listing, colours } = shown;
  return [
    foldService.of((state, start) => {
      const number = state.doc.lineAt(start).number;
      const last = doc.folds.get(number - 1);
      return last === undefined ? null : { from: state.doc.line(number).to, to: state.doc.line(last + 1).to };
    }),
    ViewPlugin.define(view => new RowDecorations(view, doc, listing, colours), {
      decorations: plugin => plugin.decorations
    }),
    columnsExtension(shown, columns),
    listing.waits?.length ? arrowGutter : [],
    foldGutter()
  ];
}

/** Colours of the visible rows: mnemonics by class, headings, and the difference. */
class RowDecorations {
  decorations: DecorationSet;

  constructor(
    view: EditorView,
    private readonly doc: IDocument,
    private readonly listing: IListing,
    private readonly colours: ReadonlyMap<number, number>
  ) {
    this.decorations = this.build(view);
  }

  update(update: { view: EditorView; viewportChanged: boolean; docChanged: boolean }): void {
    if (update.viewportChanged || update.docChanged) {
      this.decorations = this.build(update.view);
    }
  }

  private build(view: EditorView): DecorationSet {
    const builder = new RangeSetBuilder<Decoration>();
    for (const { from, to } of view.visibleRanges) {
      for (let position = from; position <= to; ) {
        const row = view.state.doc.lineAt(position);
        const line = this.doc.lines[row.number - 1];
        if (line?.kind === 'removed') {
          builder.add(row.from, row.from, removedRow);
        } else if (line?.kind === 'block' || line?.kind === 'loop') {
          builder.add(row.from, row.from, headingRow);
        } else if (line) {
          if (line.added || line.renamed) {
            builder.add(row.from, row.from, line.added ? addedRow : renamedRow);
          }
          const colour = this.colours.get(this.listing.lines[line.row]);
          if (colour !== undefined) {
            builder.add(row.from, row.from, colouredLine(colour));
          }
          if (this.listing.counts && !this.listing.counts[line.row]) {
            builder.add(row.from, row.from, neverRow);
          }
          const end = row.text.indexOf(' ');
          const kind = this.listing.classes[line.row].replace(/_.*/, '');
          builder.add(
            row.from,
            end < 0 ? row.to : row.from + end,
            Decoration.mark({ class: `jp-hipkittens-op jp-hipkittens-op-${kind}` })
          );
        }
        position = row.to + 1;
      }
    }
    return builder.finish();
  }
}
