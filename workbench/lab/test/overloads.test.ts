import { argumentsAt, kindOf, ranked } from '../src/overloads';

const CELL = `%%hipkittens k
struct globals { gl<bf16, 1, 1, -1, 1024> x; gl<bf16, 1, 1, -1, 1024> out; float eps; };
__global__ void k(const globals g) {
    extern __shared__ alignment_dummy __shm[];
    rt_bf<16, 64> stored;
    rt_fl<16, 64> a, b;
    decltype(a)::col_vec scale;
    st_bf<64, 64> (&tile) = al.allocate<st_bf<64, 64>>();
    load(stored, g.x, {0, 0, row, 0});
    mul<true>(a, b, f(1, 2));
}`;

const of = (kind: string, rest = '', name = 'load') => ({
  name,
  kind: 'function',
  signature: `template <ducks::${kind}::all X, ducks::gl::all GL> void ${name}(X &dst, const GL &src${rest})`,
  doc: '',
  header: `${kind}.cuh`
});

describe('overloads', () => {
  it('are told by the arguments of the call', () => {
    const at = (word: string) => CELL.indexOf(`${word}(`) + word.length;
    expect(argumentsAt(CELL, at('load'))).toEqual(['stored', 'g.x', '{0, 0, row, 0}']);
    expect(argumentsAt(CELL, CELL.indexOf('mul<') + 3)).toEqual(['a', 'b', 'f(1, 2)']);
    expect(argumentsAt(CELL, CELL.indexOf('stored') + 6)).toBeNull();
    expect(argumentsAt('f() + g(1)', 1)).toEqual([]);
  });

  it('know what the cell declares', () => {
    const kinds = ['stored', 'b', 'scale', 'g.x', 'g.eps', '{0, 0}', '1.0f', 'nothing'];
    expect(kinds.map(name => kindOf(name, CELL))).toEqual([
      ...['rt', 'rt', 'rv', 'gl', 'number', 'coord', 'number', '']
    ]);
  });

  it('come in the order in which they fit', () => {
    const all = [
      of('st', ', const C &idx'),
      of('sv', ', const C &idx'),
      of('rt'),
      of('rt', ', const C &idx')
    ];
    const first = (call: string[]) => ranked(all, call, CELL)[0];
    expect(first(['stored', 'g.x', '{0}'])).toBe(all[3]);
    expect(first(['stored', 'g.x'])).toBe(all[2]);
    expect(ranked(all, null, CELL)).toEqual(all);
    const type = { ...all[0], kind: 'type' };
    expect(ranked([type, all[1]], ['stored', 'g.x', '{0}'], CELL)[0]).toBe(all[1]);
  });
});
