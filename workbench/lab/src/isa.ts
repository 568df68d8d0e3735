/**
 * A kernel's machine code as lines of a document: instructions, headings of blocks and loops, and instructions that
 * went since the previous compile.
 */

import { percent } from './format';
import type { IMeasure } from './payload';

export interface ILoop {
  first: number;
  last: number;
  depth: number;
}

/** Cost of each instruction by one measure. */
export interface IColumn extends IMeasure {
  values: number[];
}

/** A column for each property of the instructions, in address order; see `workbench.lab.listing.Listing`. */
export interface IListing {
  kernel: string;
  arch: string;
  addresses: number[];
  texts: string[];
  classes: string[];
  lines: number[];
  headers: string[];
  counts: number[] | null;
  vgprs: number[];
  agprs: number[];
  blocks: number[];
  loops: ILoop[];
  /** Costs of the last profiled launch. */
  measures?: IColumn[];
  /** [row of a wait, row of the load that it waits for longest], of the last profile. */
  waits?: [number, number][];
}

export type ILine =
  | { kind: 'code'; row: number; added: boolean; renamed: boolean }
  | { kind: 'removed'; text: string }
  | { kind: 'block'; block: number; row: number }
  | { kind: 'loop'; loop: number; row: number };

export interface IDocument {
  lines: ILine[];
  text: string;
  /** By document line from 0: last line that belongs to the heading there. */
  folds: Map<number, number>;
  /** Document line of each instruction. */
  lineOfRow: number[];
  added: number;
  removed: number;
  /** Instructions that only have other registers than before. */
  renamed: number;
}

/**
 * A step from the previous compile, as the kernel reports it (`workbench.codeobject.difference`): its kind, the row
 * before and the row after. Renamed registers are folded away there.
 */
export type Edit = [
  kind: 'same' | 'renamed' | 'added' | 'removed',
  before: number | null,
  after: number | null
];

/**
 * The document of a listing.
 *
 * @param listing - what is shown.
 * @param column - measure of which headings show the share of their block or loop, null for none.
 * @param compared - the listing of the previous compile and the way from it, null for no comparison.
 */
export function toDocument(
  listing: IListing,
  column: IColumn | null = null,
  compared: { previous: IListing; edits: readonly Edit[] } | null = null
): IDocument {
  const lines: ILine[] = [];
  const text: string[] = [];
  const lineOfRow: number[] = [];
  const folds = new Map<number, number>();
  const blockAt = new Map(listing.blocks.map((row, block) => [row, block]));
  const loopsAt = new Map<number, number[]>();
  listing.loops.forEach((loop, index) =>
    loopsAt.set(loop.first, [...(loopsAt.get(loop.first) ?? []), index])
  );
  const open: { line: number; lastRow: number }[] = [];
  const edits = compared?.edits ?? listing.texts.map((_, row): Edit => ['same', row, row]);
  let added = 0;
  let renamed = 0;
  let removed = 0;

  const push = (line: ILine, shown: string) => {
    lines.push(line);
    text.push(shown);
  };
  for (const [kind, before, after] of edits) {
    if (kind === 'removed' || after === null) {
      const gone = compared?.previous.texts[before ?? -1] ?? '';
      removed++;
      push({ kind: 'removed', text: gone }, gone);
      continue;
    }
    const row = after;
    for (const loop of loopsAt.get(row) ?? []) {
      open.push({ line: lines.length, lastRow: listing.loops[loop].last });
      push({ kind: 'loop', loop, row }, loopHeading(listing, loop, column));
    }
    const block = blockAt.get(row);
    if (block !== undefined) {
      open.push({ line: lines.length, lastRow: (listing.blocks[block + 1] ?? listing.texts.length) - 1 });
      push({ kind: 'block', block, row }, blockHeading(listing, block, column));
    }
    lineOfRow[row] = lines.length;
    added += kind === 'added' ? 1 : 0;
    renamed += kind === 'renamed' ? 1 : 0;
    push({ kind: 'code', row, added: kind === 'added', renamed: kind === 'renamed' }, listing.texts[row]);
    for (let i = open.length - 1; i >= 0; i--) {
      if (open[i].lastRow === row) {
        folds.set(open[i].line, lines.length - 1);
        open.splice(i, 1);
      }
    }
  }
  return { lines, text: text.join('\n'), folds, lineOfRow, added, removed, renamed };
}

function loopHeading(listing: IListing, index: number, column: IColumn | null): string {
  const loop = listing.loops[index];
  const size = loop.last - loop.first + 1;
  const times = listing.counts ? `, head executed ${grouped(listing.counts[loop.first])} times` : '';
  const part = sharePart(column, loop.first, loop.last);
  return `; loop at depth ${loop.depth + 1}: ${size} instructions${times}${part}`;
}

function blockHeading(listing: IListing, block: number, column: IColumn | null): string {
  const row = listing.blocks[block];
  const times = listing.counts ? `, ${grouped(listing.counts[row])} times` : '';
  const part = sharePart(column, row, (listing.blocks[block + 1] ?? listing.texts.length) - 1);
  return `; block ${block}, ${hex(listing.addresses[row])}${times}${part}`;
}

function sharePart(column: IColumn | null, first: number, last: number): string {
  const all = column ? total(column) : 0;
  if (!column || !all) {
    return '';
  }
  return `, ${percent(total(column, first, last) / all)} of ${column.label.toLowerCase()}`;
}

/**
 * Sum of a column, from one row to another, both included.
 */
export function total(column: IColumn, first = 0, last = column.values.length - 1): number {
  let sum = 0;
  for (let row = first; row <= last; row++) {
    sum += column.values[row] ?? 0;
  }
  return sum;
}

/**
 * The measure with this key; the first where the listing has none with it, null where it has none at all.
 */
export function chosenColumn(listing: IListing, key: string): IColumn | null {
  const columns = listing.measures ?? [];
  return columns.find(column => column.key === key) ?? columns[0] ?? null;
}

/** Columns beside the instructions and their widths in pixels, in the order in which a narrow view drops them. */
export const COLUMNS = [
  ['Address', 54],
  ['Pressure', 58],
  ['Count', 58],
  ['Source', 54],
  ['Cost', 82]
] as const;

export type ColumnName = (typeof COLUMNS)[number][0];

/** Ems that columns leave to the instructions: most fit, and the view scrolls sideways to the end of longer ones. */
const CODE = 25;

/**
 * The columns that a view has room for; the last one always stays.
 *
 * @param width - of the view in pixels.
 * @param em - of the code's font, in pixels.
 * @param wanted - columns that are there and that the user does not hide.
 */
export function roomFor(width: number, em: number, wanted: readonly ColumnName[]): ColumnName[] {
  const left = COLUMNS.filter(([name]) => wanted.includes(name));
  // Two ems for folds and arrows.
  const code = () => width - 2 * em - left.reduce((sum, [, own]) => sum + own, 0);
  while (left.length > 1 && code() < CODE * em) {
    left.shift();
  }
  return left.map(([name]) => name);
}

export interface IHeading {
  /** The column below it, '' for the code itself. */
  column: ColumnName | '';
  name: string;
  /** Unit or origin. */
  detail: string;
  doc: string;
}

/**
 * The value in each gutter, in order.
 */
export function headings(listing: IListing, column: IColumn | null): IHeading[] {
  const measured = (listing.measures ?? []).some(measure => measure.origin === 'measured');
  const executed: IHeading = {
    column: 'Count',
    name: 'executed',
    detail: measured ? 'measured' : 'counted',
    doc: 'Executions, summed over all waves of the last counted launch'
  };
  const cost: IHeading | null = column && {
    column: 'Cost',
    name: column.label,
    detail: `% · ${column.origin}`,
    doc: `${column.label}: share of the kernel's${column.unit ? ` (in ${column.unit})` : ''}. ${column.doc ?? ''}`.trim()
  };
  return [
    {
      column: 'Address',
      name: 'address',
      detail: 'hex',
      doc: 'Address of the instruction in the code object'
    },
    ...(listing.counts ? [executed] : []),
    ...(cost ? [cost] : []),
    {
      column: 'Pressure',
      name: 'live',
      detail: 'registers',
      doc: 'Vector and accumulation registers that hold a value still needed before the instruction; derived from the code'
    },
    {
      column: 'Source',
      name: 'line',
      detail: '* header',
      doc: 'Line of the cell. * marks code of a header that the line calls, · code of no line of the cell'
    },
    { column: '', name: 'instruction', detail: listing.arch, doc: `Machine code for ${listing.arch}` }
  ];
}

export function grouped(value: number): string {
  return value.toLocaleString('en-US');
}

export function hex(address: number): string {
  return `0x${address.toString(16)}`;
}

/**
 * Rows of the instructions made from a source line.
 */
export function rowsOfLine(listing: IListing, line: number): number[] {
  const rows: number[] = [];
  listing.lines.forEach((own, row) => {
    if (own === line) {
      rows.push(row);
    }
  });
  return rows;
}

/** Number of colours for lines; see `.jp-hipkittens-line-0` and the next. */
export const COLOURS = 8;

/**
 * A colour for each line of the cell that became machine code; adjacent lines differ.
 */
export function lineColours(listing: IListing): Map<number, number> {
  const lines = [...new Set(listing.lines)].filter(line => line > 0).sort((a, b) => a - b);
  return new Map(lines.map((line, n) => [line, n % COLOURS]));
}

/**
 * Instructions and executions by class, most first.
 */
export function mix(listing: IListing): { name: string; instructions: number; executions: number }[] {
  const found = new Map<string, { name: string; instructions: number; executions: number }>();
  listing.classes.forEach((name, row) => {
    const entry = found.get(name) ?? { name, instructions: 0, executions: 0 };
    entry.instructions++;
    entry.executions += listing.counts?.[row] ?? 0;
    found.set(name, entry);
  });
  return [...found.values()].sort((a, b) => b.executions - a.executions || b.instructions - a.instructions);
}
