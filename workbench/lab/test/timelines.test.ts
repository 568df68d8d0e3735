import type { CellRecord } from '../src/cells';
import { SourceLinks, type ILink } from '../src/links';
import { POINTED, SELECTED, connectTimelines, type IPointed } from '../src/timelines';

const record = { payload: { name: 'mod', kernels: [{ name: 'gemm' }] } } as unknown as CellRecord;

function connected() {
  const links = new SourceLinks();
  const told: { cell: ILink[]; isa: ILink[]; timeline: IPointed[] } = { cell: [], isa: [], timeline: [] };
  links.fromCell.connect((_, link) => void told.isa.push(link));
  links.fromIsa.connect((_, link) => void told.cell.push(link));
  const listen = (event: Event) => void told.timeline.push((event as CustomEvent<IPointed>).detail);
  document.addEventListener(POINTED, listen);
  const end = connectTimelines(links, kernel => (kernel === 'gemm' ? record : null));
  return { links, told, end: () => (end(), document.removeEventListener(POINTED, listen)) };
}

const click = (detail: unknown) => document.dispatchEvent(new CustomEvent(SELECTED, { detail }));

describe('timelines', () => {
  it('select the line in the cell and the instruction in the ISA view', () => {
    const { told, end } = connected();
    click({ kernel: 'gemm', address: 64, line: 7, own: true });
    expect(told.cell).toEqual([{ record, line: 7, action: 'select', addresses: [64] }]);
    expect(told.isa).toEqual(told.cell);
    expect(told.timeline).toEqual([]);
    end();
  });

  it('know no line of the cell where the instruction is of a header', () => {
    const { told, end } = connected();
    click({ kernel: 'gemm', address: 64, line: 300, own: false });
    expect(told.isa[0]).toMatchObject({ line: 0, addresses: [64] });
    end();
  });

  it('say nothing of other kernels, nor of a click on nothing', () => {
    const { told, end } = connected();
    click({ kernel: 'other', address: 64, line: 7, own: true });
    click(null);
    expect([told.cell, told.isa]).toEqual([[], []]);
    end();
    click({ kernel: 'gemm', address: 64, line: 7, own: true });
    expect(told.cell).toEqual([]);
  });

  it('show what is selected in a cell or an ISA view, not what is pointed at', () => {
    const { links, told, end } = connected();
    links.pointInCell({ record, line: 3, action: 'hover' });
    links.pointInCell({ record, line: 3, action: 'select' });
    links.pointInIsa({ record, line: 4, action: 'select', addresses: [8] });
    expect(told.timeline).toEqual([
      { kernels: ['gemm'], line: 3, addresses: undefined },
      { kernels: ['gemm'], line: 4, addresses: [8] }
    ]);
    end();
  });
});
