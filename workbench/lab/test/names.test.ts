import { candidates, documentation } from '../src/candidates';
import { describe as show, wordAt } from '../src/hover';
import { isKittensWord } from '../src/keywords';
import { Names } from '../src/names';

const INDEX = {
  digest: 'd',
  entries: [
    {
      name: 'row_sum',
      scope: 'kittens',
      kind: 'function',
      signature: 'void row_sum(RV &dst)',
      doc: 'Sums.',
      header: 'r.cuh',
      line: 1
    },
    {
      name: 'rows',
      scope: 'kittens::rt',
      kind: 'variable',
      signature: 'int rows',
      doc: '',
      header: 'rt.cuh',
      line: 2
    },
    {
      name: 'rows',
      scope: 'kittens',
      kind: 'function',
      signature: 'int rows()',
      doc: '',
      header: 'gl.cuh',
      line: 3
    }
  ]
};

async function names(): Promise<Names> {
  const found = new Names();
  await found.update({ ask: async () => INDEX } as any);
  return found;
}

function at(text: string): [string, number] {
  const offset = text.indexOf('|');
  return [text.replace('|', ''), offset];
}

describe('completion', () => {
  it('offers options on the magic line', async () => {
    const found = candidates(await names(), ...at('%%hipkittens k --prof|'));
    expect(found.entries.map(entry => entry.name)).toEqual(['--profile']);
    expect(found.start).toBe(15);
    expect(candidates(await names(), ...at('%%hipkittens ro|')).entries).toEqual([]);
  });

  it('offers names of the library, of HIP and of the cell', async () => {
    const cell = '%%hipkittens k\nint rows_here; int row_1;\nrow|';
    const found = candidates(await names(), ...at(cell)).entries;
    expect(found.map(entry => entry.name)).toEqual(['rows', 'row_sum', 'row_1', 'rows_here']);
    expect(found[0].signature).toBe('int rows()');
    expect(candidates(await names(), ...at('%%hipkittens k\nthreadI|')).entries[0].name).toBe('threadIdx');
    expect(candidates(await names(), ...at('%%hipkittens k\nkittens::|')).entries.length).toBeGreaterThan(2);
    expect(candidates(await names(), ...at('%%hipkittens k\n + |')).entries).toEqual([]);
  });

  it('offers the members of what stands before a dot', async () => {
    const cell = `%%hipkittens k
struct globals {
    gl<bf16, 1, 1, -1, 64> x, out;  // a comment; with a semicolon
    float eps = 1e-5f;
    int n, m[4];
    dim3 grid() const { return dim3(n); }
};
__global__ void k(const globals g) { rt_bf<1, 1> t; g.| `;
    const offered = async (text: string) =>
      candidates(await names(), ...at(text)).entries.map(entry => entry.name);
    expect(await offered(cell)).toEqual(['x', 'out', 'eps', 'n', 'm', 'grid']);
    expect(await offered(cell.replace('g.|', 'g.e|'))).toEqual(['eps']);
    expect(await offered(cell.replace('g.|', 't.|'))).toEqual(['rows']);
    expect(await offered(cell.replace('g.|', 'unknown.|'))).toEqual([]);
  });

  it('knows which variable of a name is meant', async () => {
    const offered = async (text: string) =>
      candidates(await names(), ...at(`%%hipkittens k\n${text}`)).entries.map(entry => entry.name);
    const types = 'struct A { int a; }; struct B { int b; };\nnamespace globals { A x; }\n';
    expect(await offered(`${types}void k() { B x; x.|`)).toEqual(['b']);
    expect(await offered(`${types}A x;\nvoid k() { B x; { A x; } return x.|`)).toEqual(['b']);
    expect(await offered(`${types}void j(A x) { x; }\nvoid k(B x) { x.|`)).toEqual(['b']);
    expect(await offered(`${types}void j(A x) { x; }\nvoid k() { x.|`)).toEqual([]);
    expect(await offered(`${types}void k(B y, A x) { f(x); x.|`)).toEqual(['a']);
    expect(await offered(`${types}A x;\nvoid k() { rt_bf<16, 16> x; if (n) { x.|`)).toEqual(['rows']);
    expect(await offered(`${types}void k() { A y, x; x.|`)).toEqual(['a']);
  });

  it("completes headers, the tile library's first", async () => {
    const found = candidates(await names(), ...at('%%hipkittens k\n#include "|'));
    const headers = found.entries.map(entry => entry.name);
    expect(headers.slice(0, 4)).toEqual(['gl.cuh', 'kittens.cuh', 'r.cuh', 'rt.cuh']);
    expect(headers.slice(4).every(header => header.endsWith('.h'))).toBe(true);
    const begun = candidates(await names(), ...at('%%hipkittens k\n  #include "kit|'));
    expect(begun.start).toBe('%%hipkittens k\n  #include "'.length);
    expect(begun.entries.map(entry => entry.name)).toEqual(['kittens.cuh']);
    expect(candidates(await names(), ...at('%%hipkittens k\n// include "|')).entries).toEqual([]);
  });

  it('documents an entry', async () => {
    expect(documentation((await names()).lookup('row_sum')[0])).toBe(
      'void row_sum(RV &dst)\n\nSums.\n\nr.cuh'
    );
  });
});

describe('hover', () => {
  it('finds the word', () => {
    expect(wordAt('a = row_sum(x);', 6, false)?.word).toBe('row_sum');
    expect(wordAt('a = row_sum(x);', 2, false)).toBeNull();
    expect(wordAt('%%hipkittens k --profile', 17, true)?.word).toBe('--profile');
  });

  it('shows overloads as text, never as HTML', async () => {
    const dom = show([{ name: 'a', kind: 'function', signature: '<b>a</b>', doc: 'x', header: 'h.cuh' }]);
    expect(dom.querySelector('b')).toBeNull();
    expect(dom.textContent).toBe('<b>a</b>xh.cuh');
    expect(show((await names()).lookup('rows')).querySelectorAll('pre').length).toBe(2);
  });
});

describe('words of the library', () => {
  it('are coloured by shape, and by name once the index is there', async () => {
    expect(isKittensWord('rt_bf')).toBe(true);
    expect(isKittensWord('my_rt')).toBe(false);
    await names();
    expect(isKittensWord('row_sum')).toBe(true);
  });
});
