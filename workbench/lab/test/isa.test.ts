import {
  chosenColumn,
  comparable,
  difference,
  headings,
  mix,
  rowsOfLine,
  toDocument,
  total,
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

function replay(before: string[], after: string[]): string[] {
  return difference(before, after)
    .filter(edit => edit.kind !== 'removed')
    .map(edit => after[edit.row]);
}

describe('difference', () => {
  it('is the shortest', () => {
    const edits = difference([...'abcabba'], [...'cbabac']);
    expect(edits.filter(edit => edit.kind !== 'same').length).toBe(5);
    expect(replay([...'abcabba'], [...'cbabac']).join('')).toBe('cbabac');
  });

  it('handles equal, empty and disjoint', () => {
    expect(difference(['a'], ['a'])).toEqual([{ kind: 'same', row: 0 }]);
    expect(difference([], ['a'])).toEqual([{ kind: 'added', row: 0 }]);
    expect(difference(['a'], [])).toEqual([{ kind: 'removed', row: 0 }]);
    expect(difference(['a'], ['b']).map(edit => edit.kind)).toEqual(['removed', 'added']);
  });

  it('agrees with the longest common subsequence on random input', () => {
    const seed = Math.floor(Math.random() * 1e9);
    console.info('seed', seed);
    let state = seed;
    const random = (n: number) => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return (state >>> 8) % n;
    };
    for (let round = 0; round < 60; round++) {
      const make = () => Array.from({ length: random(14) }, () => 'abcd'[random(4)]);
      const before = make();
      const after = make();
      const edits = difference(before, after);
      expect(replay(before, after)).toEqual(after);
      const removed = edits.filter(edit => edit.kind === 'removed').map(edit => before[edit.row]);
      const same = edits.filter(edit => edit.kind === 'same').map(edit => after[edit.row]);
      expect(removed.length + same.length).toBe(before.length);
      expect(same.length).toBe(longestCommon(before, after));
    }
  });

  it('does not take long where nothing is alike', () => {
    const before = Array.from({ length: 6000 }, (_, i) => `a${i}`);
    const after = Array.from({ length: 6000 }, (_, i) => `b${i}`);
    const start = Date.now();
    expect(replay(before, after)).toEqual(after);
    expect(Date.now() - start).toBeLessThan(5000);
  });
});

function longestCommon(a: string[], b: string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table[0][0];
}

describe('document of a listing', () => {
  const code = listing(['v_a', 'v_b', 'v_c', 's_cbranch_scc1 0x104', 's_endpgm'], {
    blocks: [0, 1, 4],
    loops: [{ first: 1, last: 3, depth: 0 }],
    counts: [1, 8, 8, 8, 1]
  });

  it('has headings before blocks and loops, and folds them', () => {
    const { text, folds, lineOfRow } = toDocument(code, null);
    const lines = text.split('\n');
    expect(lines).toEqual([
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
    expect([...folds.entries()].sort()).toEqual([
      [0, 1],
      [2, 6],
      [3, 6],
      [7, 8]
    ]);
    expect(lineOfRow).toEqual([1, 4, 5, 6, 8]);
  });

  it('shows what came and went, and takes a moved branch target for the same', () => {
    const before = listing(['v_a', 'v_x', 'v_c', 's_cbranch_scc1 0x108', 's_endpgm']);
    const { text, lines, added, removed } = toDocument(code, before);
    expect([added, removed]).toEqual([1, 1]);
    const kinds = lines.map((line, i) => `${line.kind} ${text.split('\n')[i]}`);
    expect(kinds).toContain('removed v_x');
    expect(lines.filter(line => line.kind === 'code' && line.added).length).toBe(1);
    expect(comparable('s_branch 0x1f0')).toBe(comparable('s_branch 0x200'));
    expect(comparable('v_mov_b32 v0, 0x10')).toBe('v_mov_b32 v0, 0x10');
  });

  it('knows the rows of a source line and the mix', () => {
    expect(rowsOfLine(code, 3)).toEqual([1, 3]);
    expect(rowsOfLine(code, 99)).toEqual([]);
    expect(mix(code)).toEqual([{ name: 'valu', instructions: 5, executions: 26 }]);
    expect(toDocument(listing([]), null).lines).toEqual([]);
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
    expect(chosenColumn(code, 'stall_cycles')?.key).toBe('stall_cycles');
    expect(chosenColumn(code, '')?.key).toBe('issue_cycles');
    expect(chosenColumn(code, 'bytes')?.key).toBe('issue_cycles');
    expect(chosenColumn(listing(['a']), 'bytes')).toBeNull();
  });

  it('are shares in the headings of blocks and loops', () => {
    const shown = chosenColumn(code, 'stall_cycles');
    const headings = toDocument(code, null, shown)
      .text.split('\n')
      .filter(line => line.startsWith(';'));
    expect(headings.map(line => line.replace(/^.*, /, ''))).toEqual([
      '10% of stall cycles',
      '80% of stall cycles',
      '80% of stall cycles',
      '10% of stall cycles'
    ]);
    expect(total(shown as IColumn, 1, 2)).toBe(80);
    expect(toDocument(code, null, column('x', [0, 0, 0, 0])).text).not.toContain('stall');
    expect(toDocument(code, null).text).not.toContain('% of');
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
    expect(headings(listing(['s_endpgm']), null).map(one => one.name)).toEqual([
      'address',
      'live',
      'line',
      'instruction'
    ]);
    const all = headings(listing(['s_endpgm'], { counts: [1], measures: [stalls] }), stalls);
    expect(all.map(one => one.name)).toEqual([
      'address',
      'executed',
      'Stall cycles',
      'live',
      'line',
      'instruction'
    ]);
    expect(new Set(all.map(one => one.gutter)).size).toBe(all.length);
  });

  it('say unit and origin', () => {
    const [, executed, cost] = headings(listing(['s_endpgm'], { counts: [1], measures: [stalls] }), stalls);
    expect(executed.detail).toBe('counted');
    expect(cost.detail).toBe('% · modelled');
    expect(cost.doc).toBe("Stall cycles: share of the kernel's (in cycles). Waits.");
    const traced = { ...stalls, origin: 'measured' as const };
    expect(headings(listing(['s_endpgm'], { counts: [1], measures: [traced] }), traced)[1].detail).toBe(
      'measured'
    );
  });
});
