/**
 * The columns beside the rows of the ISA view: addresses, executions, cost, live registers, lines of the cell; and the
 * headings above them.
 */

import type { Extension } from '@codemirror/state';
import { EditorView, GutterMarker, gutter, showPanel, type Panel } from '@codemirror/view';

import { count, percent, quantity } from './format';
import {
  COLUMNS,
  headings,
  hex,
  total,
  type ColumnName,
  type IColumn,
  type IDocument,
  type IHeading,
  type IListing
} from './isa';

/** Contents of a view. */
export interface IShown {
  document: IDocument;
  listing: IListing;
  column: IColumn | null;
  /** Colours of the cell's lines; empty while a comparison has its own. */
  colours: ReadonlyMap<number, number>;
}

class TextMarker extends GutterMarker {
  constructor(
    readonly text: string,
    readonly title = ''
  ) {
    super();
  }

  eq(other: TextMarker): boolean {
    return other.text === this.text && other.title === this.title;
  }

  toDOM(): Node {
    if (!this.title) {
      return document.createTextNode(this.text);
    }
    const dom = document.createElement('span');
    dom.textContent = this.text;
    dom.title = this.title;
    return dom;
  }
}

class PressureMarker extends GutterMarker {
  constructor(
    readonly vgprs: number,
    readonly agprs: number,
    readonly most: number
  ) {
    super();
  }

  eq(other: PressureMarker): boolean {
    return other.vgprs === this.vgprs && other.agprs === this.agprs && other.most === this.most;
  }

  toDOM(): Node {
    const dom = document.createElement('div');
    dom.className = 'jp-hipkittens-Pressure';
    dom.title = `${this.vgprs} VGPR${this.agprs ? ` and ${this.agprs} AGPR` : ''} hold a value that is still needed`;
    dom.textContent = String(this.vgprs + this.agprs);
    dom.style.setProperty(
      '--jp-hipkittens-pressure',
      `${Math.round(((this.vgprs + this.agprs) / this.most) * 100)}%`
    );
    return dom;
  }
}

class CostMarker extends GutterMarker {
  constructor(
    readonly value: number,
    readonly sum: number,
    readonly most: number,
    readonly column: IColumn
  ) {
    super();
  }

  eq(other: CostMarker): boolean {
    return other.value === this.value && other.sum === this.sum && other.column.key === this.column.key;
  }

  toDOM(): Node {
    const dom = document.createElement('div');
    const { label, unit, origin } = this.column;
    dom.className = 'jp-hipkittens-IsaCostMark';
    dom.textContent = this.value ? percent(this.value / this.sum) : '';
    dom.title = `${label}: ${quantity(this.value, unit)} (${origin})`;
    dom.style.setProperty('--jp-hipkittens-heat', `${Math.round((this.value / this.most) * 100)}%`);
    return dom;
  }
}

/** A row of headings above the gutters, as wide as they are. */
function headingRowOf(shownHeadings: readonly IHeading[]): (view: EditorView) => Panel {
  return view => {
    const dom = document.createElement('div');
    dom.className = 'jp-hipkittens-IsaHeadings';
    dom.setAttribute('role', 'note');
    dom.setAttribute(
      'aria-label',
      `Columns: ${shownHeadings.map(({ name, detail, doc }) => `${name}, ${detail}: ${doc}`).join('; ')}`
    );
    const cells = shownHeadings.map(heading => {
      const cell = document.createElement('div');
      cell.title = heading.doc;
      cell.dataset.column = heading.column;
      const name = document.createElement('b');
      name.textContent = heading.name;
      const detail = document.createElement('small');
      detail.textContent = heading.detail;
      cell.append(name, detail);
      dom.append(cell);
      return cell;
    });
    const fit = () =>
      view.requestMeasure({
        key: dom,
        read: () => ({
          widths: shownHeadings.map(
            ({ column }) =>
              view.dom.querySelector(`.cm-gutter.jp-hipkittens-Isa${column}`)?.getBoundingClientRect()
                .width ?? 0
          ),
          gutters: view.dom.querySelector('.cm-gutters')?.getBoundingClientRect().width ?? 0
        }),
        write: ({ widths, gutters }) => {
          widths.forEach((width, index) => {
            if (width) {
              cells[index].style.width = `${width}px`;
            }
          });
          // The arrows' and the folds' gutters have no heading.
          const rest = gutters - widths.reduce((sum, width) => sum + width, 0);
          cells[cells.length - 1].style.marginLeft = `${Math.max(0, rest)}px`;
        }
      });
    fit();
    return {
      dom,
      top: true,
      update: update => {
        if (update.geometryChanged || update.docChanged || update.viewportChanged) {
          fit();
        }
      }
    };
  };
}

const columnWidths = EditorView.baseTheme(
  Object.fromEntries(
    COLUMNS.map(([name, width]) => [`.jp-hipkittens-Isa${name}`, { minWidth: `${width}px` }])
  )
);

/** Text of a column beside an instruction. */
function markerOf(name: ColumnName, { listing, column }: IShown): (row: number) => GutterMarker | null {
  switch (name) {
    case 'Address':
      return row => new TextMarker(hex(listing.addresses[row]));
    case 'Count':
      return row => {
        const value = listing.counts?.[row] ?? 0;
        const title = `${value.toLocaleString('en-US')} executions, counted over all waves`;
        return new TextMarker(count(value), title);
      };
    case 'Cost': {
      const sum = (column && total(column)) || 1;
      const most = Math.max(...(column?.values ?? []), 0) || 1;
      return row => column && new CostMarker(column.values[row] ?? 0, sum, most, column);
    }
    case 'Pressure': {
      const most = Math.max(1, ...listing.vgprs.map((value, row) => value + listing.agprs[row]));
      return row => new PressureMarker(listing.vgprs[row], listing.agprs[row], most);
    }
    case 'Source':
      return row => {
        const line = listing.lines[row];
        const header = listing.headers[row];
        return line || header
          ? new TextMarker(line ? `${line}${header ? '*' : ''}` : '·', header || `line ${line} of the cell`)
          : null;
      };
  }
}

/**
 * Headings and gutters of the visible columns; hidden ones are not drawn at all.
 */
export function columnsExtension(shown: IShown, columns: readonly ColumnName[]): Extension {
  const { document: doc, listing, column } = shown;
  const shownHeadings = headings(listing, column).filter(one => !one.column || columns.includes(one.column));
  const gutters = shownHeadings.map(heading => {
    const name = heading.column;
    if (!name) {
      return [];
    }
    const marker = markerOf(name, shown);
    return gutter({
      class: `jp-hipkittens-Isa${name}`,
      lineMarker: (view, block) => {
        const line = doc.lines[view.state.doc.lineAt(block.from).number - 1];
        return line?.kind === 'code' ? marker(line.row) : null;
      }
    });
  });
  return [showPanel.of(headingRowOf(shownHeadings)), columnWidths, gutters];
}
