import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  COLUMNS,
  chosenColumn,
  headings,
  lineColours,
  mix,
  roomFor,
  rowsOfLine,
  toDocument,
  total,
  type Edit,
  type IColumn,
  type IListing
} from '../src/isa';

function listing(texts: string[], more: Partial<IListing> = {}): IListing {
  return {
    kernel: 'k',
    arch: 'gfx950',
    addresses: texts.map((_, row) => 0x100 + row * 4),
    texts,
    classes: texts.map(() => 'valu'),
    lines: texts.map((_, row) => (row % 2 ? 3 : 0)),
    headers: texts.map(() => ''),
    counts: null,
    vgprs: texts.map(() => 1),
    agprs: texts.map(() => 0),
    blocks: texts.length ? [0] : [],
    loops: [],
    ...more
  };
}

describe('document of a listing', () => {
  const code = listing(['v_a', 'v_b', 'v_c', 's_cbranch_scc1 0x104', 's_endpgm'], {
    blocks: [0, 1, 4],
    loops: [{ first: 1, last: 3, depth: 0 }],
    counts: [1, 8, 8, 8, 1]
  });

  it('has headings before blocks and loops, and folds them', () => {
    const { text, folds, lineOfRow } = toDocument(code);
    const lines = text.split('\n');
    assert.deepEqual(lines, [
      '; block 0, 0x100, 1 times',
      'v_a',
      '; loop at depth 1: 3 instructions, head executed 8 times',
      '; block 1, 0x104, 8 times',
      'v_b',
      'v_c',
      's_cbranch_scc1 0x104',
      '; block 2, 0x110, 1 times',
      's_endpgm'
    ]);
    assert.deepEqual([...folds.entries()].sort(), [
      [0, 1],
      [2, 6],
      [3, 6],
      [7, 8]
    ]);
    assert.deepEqual(lineOfRow, [1, 4, 5, 6, 8]);
  });

  it('shows what came, what went, and what only has other registers', () => {
    const previous = listing(['v_a', 'v_x', 'v_c', 's_cbranch_scc1 0x108', 's_endpgm']);
    const edits: Edit[] = [
      ['same', 0, 0],
      ['removed', 1, null],
      ['added', null, 1],
      ['renamed', 2, 2],
      ['same', 3, 3],
      ['same', 4, 4]
    ];
    const { text, lines, added, removed, renamed } = toDocument(code, null, { previous, edits });
    assert.deepEqual([added, removed, renamed], [1, 1, 1]);
    const kinds = lines.map((line, i) => `${line.kind} ${text.split('\n')[i]}`);
    assert.ok(kinds.includes('removed v_x'));
    assert.equal(lines.filter(line => line.kind === 'code' && line.added).length, 1);
  });

  it('gives each line of the cell a colour that its neighbours do not have', () => {
    const lines = [7, 0, 3, 7, 9, 3, 12];
    const colours = lineColours(listing(lines.map(String), { lines }));
    assert.deepEqual([...colours.keys()], [3, 7, 9, 12]);
    assert.equal(new Set(colours.values()).size, 4);
    const many = Array.from({ length: 30 }, (_, n) => n + 1);
    const found = [...lineColours(listing(many.map(String), { lines: many })).values()];
    found.slice(1).forEach((colour, n) => assert.notEqual(colour, found[n]));
  });

  it('knows the rows of a source line and the mix', () => {
    assert.deepEqual(rowsOfLine(code, 3), [1, 3]);
    assert.deepEqual(rowsOfLine(code, 99), []);
    assert.deepEqual(mix(code), [{ name: 'valu', instructions: 5, executions: 26 }]);
    assert.deepEqual(toDocument(listing([])).lines, []);
  });
});

describe('costs', () => {
  const column = (key: string, values: number[]): IColumn => ({
    key,
    label: 'Stall cycles',
    unit: 'cycles',
    origin: 'modelled',
    values
  });
  const code = listing(['a', 'b', 'c', 'd'], {
    blocks: [0, 1, 3],
    loops: [{ first: 1, last: 2, depth: 0 }],
    measures: [column('issue_cycles', [1, 1, 1, 1]), column('stall_cycles', [10, 60, 20, 10])]
  });

  it('are of the measure that is asked for, else of the first', () => {
    assert.equal(chosenColumn(code, 'stall_cycles')?.key, 'stall_cycles');
    assert.equal(chosenColumn(code, '')?.key, 'issue_cycles');
    assert.equal(chosenColumn(code, 'bytes')?.key, 'issue_cycles');
    assert.equal(chosenColumn(listing(['a']), 'bytes'), null);
  });

  it('are shares in the headings of blocks and loops', () => {
    const shown = chosenColumn(code, 'stall_cycles');
    const headings = toDocument(code, shown)
      .text.split('\n')
      .filter(line => line.startsWith(';'));
    assert.deepEqual(
      headings.map(line => line.replace(/^.*, /, '')),
      ['10% of stall cycles', '80% of stall cycles', '80% of stall cycles', '10% of stall cycles']
    );
    assert.equal(total(shown as IColumn, 1, 2), 80);
    assert.ok(!toDocument(code, column('x', [0, 0, 0, 0])).text.includes('stall'));
    assert.ok(!toDocument(code).text.includes('% of'));
  });
});

const stalls: IColumn = {
  key: 'stall_cycles',
  label: 'Stall cycles',
  unit: 'cycles',
  origin: 'modelled',
  doc: 'Waits.',
  values: [1]
};

describe('headings of the ISA view', () => {
  it('are one for each gutter that is there', () => {
    assert.deepEqual(
      headings(listing(['s_endpgm']), null).map(one => one.name),
      ['address', 'live', 'line', 'instruction']
    );
    const all = headings(listing(['s_endpgm'], { counts: [1], measures: [stalls] }), stalls);
    assert.deepEqual(
      all.map(one => one.name),
      ['address', 'executed', 'Stall cycles', 'live', 'line', 'instruction']
    );
    assert.equal(new Set(all.map(one => one.column)).size, all.length);
  });

  it('say unit and origin', () => {
    const [, executed, cost] = headings(listing(['s_endpgm'], { counts: [1], measures: [stalls] }), stalls);
    assert.equal(executed.detail, 'counted');
    assert.equal(cost.detail, '% · modelled');
    assert.equal(cost.doc, "Stall cycles: share of the kernel's (in cycles). Waits.");
    const traced = { ...stalls, origin: 'measured' as const };
    assert.equal(
      headings(listing(['s_endpgm'], { counts: [1], measures: [traced] }), traced)[1].detail,
      'measured'
    );
  });
});

describe('columns of the ISA view', () => {
  const all = COLUMNS.map(([name]) => name);

  it('all stand in a wide view, and give way to the instructions in a narrow one', () => {
    assert.deepEqual(roomFor(900, 13, all), all);
    assert.deepEqual(roomFor(560, 13, all), ['Count', 'Source', 'Cost']);
    assert.deepEqual(roomFor(530, 13, all), ['Source', 'Cost']);
    assert.deepEqual(roomFor(320, 13, all), ['Cost']);
  });

  it('have the room of those that are hidden', () => {
    assert.deepEqual(roomFor(550, 13, ['Address', 'Source', 'Cost']), ['Address', 'Source', 'Cost']);
    assert.deepEqual(roomFor(320, 13, ['Source']), ['Source']);
    assert.deepEqual(roomFor(320, 13, []), []);
  });
});
