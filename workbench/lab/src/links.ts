/**
 * Links between a cell's lines and the machine code they became, both ways.
 */

import { StateEffect, StateField, type Extension } from '@codemirror/state';
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from '@codemirror/view';
import { Signal, type ISignal } from '@lumino/signaling';

import type { CellRecord } from './cells';
import { COLOURS } from './isa';

export interface ILink {
  record: CellRecord;
  /** Line of the cell, 0 for none. */
  line: number;
  /** Whether the user only points at it, or clicked it. */
  action: 'hover' | 'select';
  /** Rows of the instructions, if known; else all of the line. */
  addresses?: number[];
}

/**
 * The highlighted place: cells report their lines, the ISA view those of its rows.
 */
export class SourceLinks {
  /** From a cell's editor, for ISA views. */
  get fromCell(): ISignal<this, ILink> {
    return this._fromCell;
  }

  /** From an ISA view, for the cell's editor. */
  get fromIsa(): ISignal<this, ILink> {
    return this._fromIsa;
  }

  pointInCell(link: ILink): void {
    this._fromCell.emit(link);
  }

  pointInIsa(link: ILink): void {
    this._fromIsa.emit(link);
  }

  /** Emitted with the cell whose lines got or lost their colours. */
  get coloured(): ISignal<this, CellRecord> {
    return this._coloured;
  }

  /** Colours of a cell's lines, as in its machine code; empty if none is shown. */
  coloursOf(record: CellRecord): ReadonlyMap<number, number> {
    return this.colours.get(record) ?? new Map();
  }

  colour(record: CellRecord, colours: ReadonlyMap<number, number>): void {
    this.colours.set(record, colours);
    this._coloured.emit(record);
  }

  private colours = new WeakMap<CellRecord, ReadonlyMap<number, number>>();
  private _coloured = new Signal<this, CellRecord>(this);
  private _fromCell = new Signal<this, ILink>(this);
  private _fromIsa = new Signal<this, ILink>(this);
}

/** Highlights a line of an editor; 0 none. */
export const setLinkedLine = StateEffect.define<number>();

const linkedLine = Decoration.line({ class: 'jp-hipkittens-linked' });

const linked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setLinkedLine)) {
        const line = effect.value;
        return line >= 1 && line <= transaction.newDoc.lines
          ? Decoration.set(linkedLine.range(transaction.newDoc.line(line).from))
          : Decoration.none;
      }
    }
    return marks.map(transaction.changes);
  },
  provide: field => EditorView.decorations.from(field)
});

/** Gives an editor's lines their colours. */
const setColours = StateEffect.define<ReadonlyMap<number, number>>();

/** A line, or a row of machine code, in its colour. */
export function colouredLine(colour: number): Decoration {
  return COLOURED[colour];
}

const COLOURED = Array.from({ length: COLOURS }, (_, n) =>
  Decoration.line({ class: `jp-hipkittens-line jp-hipkittens-line-${n}` })
);

const coloured = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setColours)) {
        const doc = transaction.newDoc;
        const lines = [...effect.value].filter(([line]) => line <= doc.lines).sort(([a], [b]) => a - b);
        return Decoration.set(lines.map(([line, colour]) => COLOURED[colour].range(doc.line(line).from)));
      }
    }
    return marks.map(transaction.changes);
  },
  provide: field => EditorView.decorations.from(field)
});

/**
 * Reports the line under the pointer and the cursor's, and highlights the line that an ISA view points at.
 */
export function linksExtension(record: CellRecord, links: SourceLinks): Extension {
  class Links {
    constructor(private readonly view: EditorView) {
      links.fromIsa.connect(this.show, this);
      links.coloured.connect(this.colour, this);
      // An editor takes no changes while it makes its plugins.
      queueMicrotask(() => this.colour(links, record));
    }

    update(update: ViewUpdate): void {
      if (update.selectionSet && update.view.hasFocus) {
        const head = update.state.selection.main.head;
        this.report(update.state.doc.lineAt(head).number, 'select');
      }
    }

    destroy(): void {
      this.destroyed = true;
      links.fromIsa.disconnect(this.show, this);
      links.coloured.disconnect(this.colour, this);
    }

    point(event: MouseEvent): void {
      const position = this.view.posAtCoords({ x: event.clientX, y: event.clientY });
      this.report(position === null ? 0 : this.view.state.doc.lineAt(position).number, 'hover');
    }

    leave(): void {
      this.report(0, 'hover');
    }

    private report(line: number, action: ILink['action']): void {
      if (action === 'hover' && line === this.pointed) {
        return;
      }
      this.pointed = line;
      links.pointInCell({ record, line, action });
    }

    private colour(_sender: SourceLinks, changed: CellRecord): void {
      if (changed === record && !this.destroyed) {
        this.view.dispatch({ effects: setColours.of(links.coloursOf(record)) });
      }
    }

    private show(_sender: SourceLinks, link: ILink): void {
      if (link.record !== record) {
        return;
      }
      this.view.dispatch({ effects: setLinkedLine.of(link.line) });
      if (link.action === 'select' && link.line >= 1 && link.line <= this.view.state.doc.lines) {
        const { from } = this.view.state.doc.line(link.line);
        this.view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
        this.view.dom.scrollIntoView?.({ block: 'nearest' });
      }
    }

    private pointed = 0;
    private destroyed = false;
  }
  return [
    coloured,
    linked,
    ViewPlugin.fromClass(Links, {
      eventHandlers: {
        mousemove(event) {
          this.point(event);
        },
        mouseleave() {
          this.leave();
        }
      }
    })
  ];
}
