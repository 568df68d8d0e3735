import { merged } from '../src/candidates';
import { describeText, isIndexed } from '../src/hover';

const entry = (name: string, header = '') => ({ name, kind: 'function', signature: name, doc: '', header });

describe('completion', () => {
  it('puts what clangd knows first, and each name once', () => {
    const found = merged([entry('load'), entry('log')], [entry('log', 'maps.cuh'), entry('local')]);
    expect(found.map(one => one.name)).toEqual(['log', 'local', 'load']);
    expect(found[0].header).toBe('maps.cuh');
  });

  it('tells a name of the library from one of the cell that is called alike', () => {
    const entries = [entry('row', 'types/register/rt_layout.cuh')];
    expect(isIndexed('type row\n\nprovided by "types/register/rt_layout.cuh"', entries)).toBe(true);
    expect(isIndexed('variable row\n\nType: const int', entries)).toBe(false);
    expect(isIndexed('function __syncthreads', [entry('__syncthreads')])).toBe(false);
  });

  it('shows what clangd says as text, not as markup', () => {
    const dom = describeText('rt_fl<32, 32> tile');
    expect(dom.textContent).toBe('rt_fl<32, 32> tile');
    expect(dom.querySelector('pre')?.children.length).toBe(0);
  });
});
