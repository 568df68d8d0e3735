import { describeName, documentationNodes } from '../src/documentation';
import { describeKnown, isIndexed } from '../src/hover';

function html(text: string): string {
  return documentationNodes(text)
    .map(node => node.outerHTML)
    .join('');
}

describe('documentation', () => {
  it('has paragraphs, lists and code', () => {
    expect(html('Sums `a`.\n\n- `x`: one\n- two\n\nReturns: `b`')).toBe(
      '<p>Sums <code>a</code>.</p><ul><li><code>x</code>: one</li><li>two</li></ul><p>Returns: <code>b</code></p>'
    );
    expect(html('A:\n```\nf();\n\n- g\n```\nB')).toBe(
      '<p>A:</p><pre class="jp-hipkittens-Example">f();\n\n- g</pre><p>B</p>'
    );
    expect(html('```\nnever ended')).toBe('<pre class="jp-hipkittens-Example">never ended</pre>');
    expect(html('')).toBe('');
  });

  it('is never HTML', () => {
    const nodes = documentationNodes('<b>x</b> `<i>`\n- <u>');
    expect(nodes.some(node => node.querySelector('b, i, u'))).toBe(false);
    expect(describeName('<b>', '<i>').map(node => node.textContent)).toEqual(['<b>', '<i>']);
  });
});

describe('what clangd knows', () => {
  const known = {
    text: 'variable t …',
    title: 'variable t',
    signature: 'int t',
    facts: ['Type: int'],
    doc: 'One.',
    header: ''
  };

  it('is declaration, facts, documentation and title', () => {
    const dom = describeKnown(known);
    expect([...dom.children].map(node => node.textContent)).toEqual([
      'int t',
      'Type: int',
      'One.',
      'variable t'
    ]);
  });

  it('is the whole text of an older kernel', () => {
    expect(describeKnown({ text: 'int t' }).textContent).toBe('int t');
  });

  it('gives way to the index for names of the library', () => {
    const entry = { name: 't', kind: 'variable', signature: 'int t', doc: '', header: 'a/t.cuh' };
    expect(isIndexed({ text: 'provided by "a/t.cuh"' }, [entry])).toBe(true);
    expect(isIndexed(known, [entry, { ...entry, header: '' }])).toBe(false);
  });
});
