import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nullTranslator } from '@jupyterlab/translation';

import { ReferenceForm } from '../src/referenceform';

const SPECS = ['activations/silu', 'gemm/bf16', 'gemm/fp8', 'normalization/rmsnorm'];
const FIRST = { used: ['gemm/fp8'], fitting: ['normalization/rmsnorm'] };

function form(likely: string) {
  const { node } = new ReferenceForm(SPECS, FIRST, likely, {}, nullTranslator.load(''));
  const select = node.querySelector('select')!;
  return {
    select,
    groups: () =>
      [...select.querySelectorAll('optgroup')].map(group =>
        [...group.children].map(option => option.textContent)
      ),
    search: (text: string) => {
      const input = node.querySelector<HTMLInputElement>('input[type=search]')!;
      input.value = text;
      input.dispatchEvent(new Event('input'));
    },
    own: () => !node.querySelector('textarea')!.closest('div')!.hidden
  };
}

describe('the form of a reference', () => {
  it('offers what was used, then what fits, then the others, each once', () => {
    const { groups, select } = form('gemm/fp8');
    assert.deepEqual(groups(), [['gemm/fp8'], ['normalization/rmsnorm'], ['activations/silu', 'gemm/bf16']]);
    assert.equal(select.value, 'gemm/fp8');
  });

  it('searches all of them and chooses the first answer', () => {
    const { groups, search, select, own } = form('');
    assert.ok(own());
    search('GEMM');
    assert.deepEqual(groups(), [['gemm/fp8'], ['gemm/bf16']]);
    assert.equal(select.value, 'gemm/fp8');
    assert.ok(!own());
    search('bf gemm');
    assert.equal(select.value, 'gemm/bf16');
    search('none such');
    assert.equal(select.value, '');
    assert.ok(own());
  });
});
