import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeName, documentationNodes } from '../src/documentation';
import { describeHover, wordAt } from '../src/hover';
import { describeSignatures } from '../src/signatures';

function html(text: string): string {
  return documentationNodes(text)
    .map(node => node.outerHTML)
    .join('');
}

describe('documentation', () => {
  it('has paragraphs, lists and code', () => {
    assert.equal(
      html('Sums `a`.\n\n- `x`: one\n- two\n\nReturns: `b`'),
      '<p>Sums <code>a</code>.</p><ul><li><code>x</code>: one</li><li>two</li></ul><p>Returns: <code>b</code></p>'
    );
    assert.equal(
      html('A:\n```\nf();\n\n- g\n```\nB'),
      '<p>A:</p><pre class="jp-hipkittens-Example">f();\n\n- g</pre><p>B</p>'
    );
    assert.equal(html('```\nnever ended'), '<pre class="jp-hipkittens-Example">never ended</pre>');
    assert.equal(html(''), '');
  });

  it('is never HTML', () => {
    const nodes = documentationNodes('<b>x</b> `<i>`\n- <u>');
    assert.equal(
      nodes.some(node => node.querySelector('b, i, u')),
      false
    );
    assert.deepEqual(
      describeName('<b>', '<i>').map(node => node.textContent),
      ['<b>', '<i>']
    );
  });
});

describe('what clangd says of a name', () => {
  it('is declaration, facts, documentation and title', () => {
    const dom = describeHover({
      title: 'variable t',
      signature: 'int t',
      facts: ['Type: int'],
      doc: 'One.',
      header: 'a/t.cuh'
    });
    assert.deepEqual(
      [...dom.children].map(node => node.textContent),
      ['int t', 'Type: int', 'One.', 'variable t · a/t.cuh']
    );
  });

  it('is asked of words and of options', () => {
    assert.deepEqual(wordAt('  row_sum(a);', 4, false), { from: 2, to: 9, word: 'row_sum' });
    assert.equal(wordAt('%%hipkittens k --verify gemm', 18, true)?.word, '--verify');
    assert.equal(wordAt('a + b', 2, false), null);
  });
});

describe('signatures', () => {
  const signature = {
    label: 'mul(RT &dst, const RT &lhs, const RT &dst2) -> void',
    parameters: ['RT &dst', 'const RT &lhs', 'const RT &dst2'],
    doc: 'dst = lhs * rhs.\n\nMore.'
  };

  it('mark the argument that is typed', () => {
    const marked = [0, 1, 2, 3].map(
      active => describeSignatures({ active, signatures: [signature] }).querySelector('strong')?.textContent
    );
    assert.deepEqual(marked, ['RT &dst', 'const RT &lhs', 'const RT &dst2', undefined]);
  });

  it('say what the function does and how many more there are', () => {
    const dom = describeSignatures({
      active: 0,
      signatures: [signature, { ...signature, label: 'mul(T t)' }]
    });
    assert.deepEqual(
      [...dom.children].map(node => node.textContent),
      [signature.label, 'dst = lhs * rhs.', '1 more of this name']
    );
  });
});
