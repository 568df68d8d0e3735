import { merged } from '../src/candidates';
import { isIndexed } from '../src/hover';

const entry = (name: string, header = '') => ({ name, kind: 'function', signature: name, doc: '', header });

describe('completion', () => {
  it('puts what clangd knows first, and each name once', () => {
    const found = merged([entry('load'), entry('log')], [entry('log', 'maps.cuh'), entry('local')]);
    expect(found.map(one => one.name)).toEqual(['log', 'local', 'load']);
    expect(found[0].header).toBe('maps.cuh');
  });

  it('tells a name of the library from one of the cell that is called alike', () => {
    const entries = [entry('row', 'types/register/rt_layout.cuh')];
    expect(isIndexed({ text: 'type row\n\nprovided by "types/register/rt_layout.cuh"' }, entries)).toBe(true);
    expect(isIndexed({ text: 'variable row\n\nType: const int' }, entries)).toBe(false);
    expect(isIndexed({ text: 'function __syncthreads' }, [entry('__syncthreads')])).toBe(false);
  });
});
