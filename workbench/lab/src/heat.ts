/**
 * Line heat: where a profiled kernel's time goes, in a gutter beside the cell's lines.
 */

import {
  RangeSet,
  RangeSetBuilder,
  StateEffect,
  StateField,
  type Extension,
  type Text
} from '@codemirror/state';
import { EditorView, GutterMarker, gutter, showTooltip, type Tooltip } from '@codemirror/view';

import { percent, quantity } from './format';
import type { IHeat, IHeatLine, IMeasure } from './payload';

export interface IHeatView {
  heat: IHeat;
  /** Key of the measure that is shown. */
  measure: string;
}

/** Shows heat in an editor, null takes it away. */
export const setHeat = StateEffect.define<IHeatView | null>();
const setHover = StateEffect.define<number | null>();

/**
 * The measure with this key, else the first.
 */
export function chosenMeasure(heat: IHeat, key: string): IMeasure {
  return heat.measures.find(measure => measure.key === key) ?? heat.measures[0];
}

/**
 * Each line's share of a measure, of all that the kernel has of it, headers included.
 */
export function shares(heat: IHeat, key: string): Map<number, number> {
  const total = heat.lines.reduce((sum, line) => sum + (line.values[key] ?? 0), heat.elsewhere[key] ?? 0);
  const found = new Map<number, number>();
  if (total > 0) {
    for (const line of heat.lines) {
      const value = line.values[key] ?? 0;
      if (value > 0) {
        found.set(line.line, value / total);
      }
    }
  }
  return found;
}

class HeatMarker extends GutterMarker {
  constructor(
    readonly line: IHeatLine,
    readonly share: number,
    readonly hottest: number,
    readonly measure: IMeasure,
    readonly stale: boolean
  ) {
    super();
  }

  eq(other: HeatMarker): boolean {
    return other.line === this.line && other.measure === this.measure && other.stale === this.stale;
  }

  toDOM(): HTMLElement {
    const dom = document.createElement('div');
    dom.className = 'jp-hipkittens-HeatMark';
    dom.dataset.stale = String(this.stale);
    dom.textContent = percent(this.share);
    // Relative to the hottest line: shares of a long kernel are small everywhere.
    dom.style.setProperty('--jp-hipkittens-heat', `${Math.round((this.share / this.hottest) * 100)}%`);
    dom.setAttribute('role', 'img');
    dom.setAttribute(
      'aria-label',
      `line ${this.line.line}: ${percent(this.share)} of ${this.measure.label}${this.stale ? ', before the last edit' : ''}`
    );
    return dom;
  }
}

interface IHeatState {
  view: IHeatView | null;
  marks: RangeSet<HeatMarker>;
}

function marks(doc: Text, view: IHeatView, stale: boolean): RangeSet<HeatMarker> {
  const measure = chosenMeasure(view.heat, view.measure);
  const share = shares(view.heat, measure.key);
  const hottest = Math.max(...share.values(), 0) || 1;
  const builder = new RangeSetBuilder<HeatMarker>();
  for (const line of [...view.heat.lines].sort((a, b) => a.line - b.line)) {
    const part = share.get(line.line);
    if (part !== undefined && line.line <= doc.lines) {
      const { from } = doc.line(line.line);
      builder.add(from, from, new HeatMarker(line, part, hottest, measure, stale));
    }
  }
  return builder.finish();
}

function staled(set: RangeSet<HeatMarker>): RangeSet<HeatMarker> {
  const builder = new RangeSetBuilder<HeatMarker>();
  for (const cursor = set.iter(); cursor.value; cursor.next()) {
    const { line, share, hottest, measure } = cursor.value;
    builder.add(cursor.from, cursor.to, new HeatMarker(line, share, hottest, measure, true));
  }
  return builder.finish();
}

const heatState = StateField.define<IHeatState>({
  create: () => ({ view: null, marks: RangeSet.empty }),
  update(state, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setHeat)) {
        return effect.value
          ? { view: effect.value, marks: marks(transaction.newDoc, effect.value, false) }
          : { view: null, marks: RangeSet.empty };
      }
    }
    // An edit keeps the heat: it stays on its lines, and shows that it belongs to the text before.
    return transaction.docChanged && state.view
      ? { view: state.view, marks: staled(state.marks.map(transaction.changes)) }
      : state;
  }
});

/**
 * Details of one line's heat.
 */
export function heatDetails(heat: IHeat, line: IHeatLine, shown: string): HTMLElement {
  const dom = document.createElement('div');
  dom.className = 'jp-hipkittens-Hover jp-hipkittens-HeatDetails';
  const table = document.createElement('table');
  for (const measure of heat.measures) {
    const value = line.values[measure.key];
    if (value !== undefined) {
      const share = shares(heat, measure.key).get(line.line) ?? 0;
      const row = addRow(table, measure.label, quantity(value, measure.unit), percent(share), measure.origin);
      row.dataset.shown = String(measure.key === shown);
      row.title = measure.doc ?? '';
    }
  }
  const classes = Object.entries(line.instructions).sort((a, b) => b[1] - a[1]);
  for (const [name, value] of classes) {
    addRow(table, `${name} instructions`, quantity(value, ''), '', 'counted');
  }
  const note = document.createElement('small');
  note.textContent = heat.note;
  dom.append(table, note);
  return dom;
}

function addRow(table: HTMLTableElement, ...cells: string[]): HTMLTableRowElement {
  const row = table.insertRow();
  for (const text of cells) {
    row.insertCell().textContent = text;
  }
  row.cells[row.cells.length - 1].className = 'jp-hipkittens-Origin';
  return row;
}

const hoveredLine = StateField.define<number | null>({
  create: () => null,
  update(line, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setHover)) {
        return effect.value;
      }
    }
    return transaction.docChanged ? null : line;
  },
  provide: field =>
    showTooltip.compute([field, heatState], (state): Tooltip | null => {
      const position = state.field(field);
      const { view, marks } = state.field(heatState);
      if (position === null || !view) {
        return null;
      }
      let mark: HeatMarker | null = null;
      marks.between(position, position, (_from, _to, value) => {
        mark = value;
        return false;
      });
      const found = mark as HeatMarker | null;
      return found
        ? {
            pos: position,
            above: false,
            create: () => ({ dom: heatDetails(view.heat, found.line, found.measure.key) })
          }
        : null;
    })
});

/**
 * The gutter, and the details of a line when the pointer is on its mark.
 */
export function heatExtension(): Extension {
  return [
    heatState,
    hoveredLine,
    gutter({
      class: 'jp-hipkittens-HeatGutter',
      markers: view => view.state.field(heatState).marks,
      domEventHandlers: {
        mouseover: (view, block) => hover(view, block.from),
        mouseleave: view => hover(view, null)
      }
    }),
    EditorView.editorAttributes.compute([heatState], state => ({
      'data-hipkittens-heat': String(state.field(heatState).marks.size > 0)
    }))
  ];
}

function hover(view: EditorView, position: number | null): boolean {
  if (view.state.field(hoveredLine) !== position) {
    view.dispatch({ effects: setHover.of(position) });
  }
  return false;
}
