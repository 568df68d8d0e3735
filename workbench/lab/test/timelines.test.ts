import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CellRecord } from '../src/cells';
import { SourceLinks, type ILink } from '../src/links';
import { POINTED, SELECTED, connectTimelines, type IPointed } from '../src/timelines';

const record = { payload: { name: 'mod', kernels: [{ name: 'gemm' }] } } as unknown as CellRecord;

function connected() {
  const links = new SourceLinks();
  const heard: { cell: ILink[]; isa: ILink[]; timeline: IPointed[] } = { cell: [], isa: [], timeline: [] };
  links.fromCell.connect((_, link) => void heard.isa.push(link));
  links.fromIsa.connect((_, link) => void heard.cell.push(link));
  const listen = (event: Event) => void heard.timeline.push((event as CustomEvent<IPointed>).detail);
  document.addEventListener(POINTED, listen);
  const end = connectTimelines(links, kernel => (kernel === 'gemm' ? record : null));
  return { links, heard, end: () => (end(), document.removeEventListener(POINTED, listen)) };
}

const click = (detail: unknown) => document.dispatchEvent(new CustomEvent(SELECTED, { detail }));

describe('timelines', () => {
  it('select the line in the cell and the instruction in the ISA view', () => {
    const { heard, end } = connected();
    click({ kernel: 'gemm', address: 64, line: 7, own: true });
    assert.deepEqual(heard.cell, [{ record, line: 7, action: 'select', addresses: [64] }]);
    assert.deepEqual(heard.isa, heard.cell);
    assert.deepEqual(heard.timeline, []);
    end();
  });

  it('know no line of the cell where the instruction is of a header', () => {
    const { heard, end } = connected();
    click({ kernel: 'gemm', address: 64, line: 300, own: false });
    assert.deepEqual([heard.isa[0].line, heard.isa[0].addresses], [0, [64]]);
    end();
  });

  it('say nothing of other kernels, nor of a click on nothing', () => {
    const { heard, end } = connected();
    click({ kernel: 'other', address: 64, line: 7, own: true });
    click(null);
    assert.deepEqual([heard.cell, heard.isa], [[], []]);
    end();
    click({ kernel: 'gemm', address: 64, line: 7, own: true });
    assert.deepEqual(heard.cell, []);
  });

  it('show what is selected in a cell or an ISA view, not what is pointed at', () => {
    const { links, heard, end } = connected();
    links.pointInCell({ record, line: 3, action: 'hover' });
    links.pointInCell({ record, line: 3, action: 'select' });
    links.pointInIsa({ record, line: 4, action: 'select', addresses: [8] });
    assert.deepEqual(heard.timeline, [
      { kernels: ['gemm'], line: 3, addresses: undefined },
      { kernels: ['gemm'], line: 4, addresses: [8] }
    ]);
    end();
  });
});
