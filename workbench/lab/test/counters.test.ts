import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { TranslationBundle } from '@jupyterlab/translation';
import { addCounterSearch } from '../src/counters';

const trans = { __: (text: string) => text } as unknown as TranslationBundle;

const row = (name: string, doc: string): string => `<tr title="${doc}"><td>${name}</td><td>1</td></tr>`;
const PROFILE = `<div class="wb"><div class="wb-counters">
  <details open><summary>instructions: 2</summary><table><tr><th>counter</th></tr>
    ${row('SQ_INSTS_VALU', 'vector instructions')}${row('SQ_INSTS_LDS', 'accesses of shared memory')}</table></details>
  <details><summary>cycles: 1</summary><table><tr><th>counter</th></tr>
    ${row('SQ_WAIT_ANY', 'cycles that waves wait')}</table></details>
</div></div>`;

describe('the search among counters', () => {
  let node: HTMLElement;
  const seen = (): string[] =>
    [...node.querySelectorAll('details:not([hidden])[open] tr:not([hidden]) td:first-child')].map(
      cell => cell.textContent ?? ''
    );
  const search = (text: string): void => {
    const field = node.querySelector('input')!;
    field.value = text;
    field.dispatchEvent(new Event('input'));
  };

  beforeEach(async () => {
    node = document.createElement('div');
    addCounterSearch(node, trans);
    node.innerHTML = PROFILE;
    // The observer is told after the script.
    await new Promise(resolve => setTimeout(resolve));
  });

  it('finds names and what they count, in groups that are folded too', () => {
    assert.deepEqual(seen(), ['SQ_INSTS_VALU', 'SQ_INSTS_LDS']);
    search('Lds');
    assert.deepEqual(seen(), ['SQ_INSTS_LDS']);
    search('waves wait');
    assert.deepEqual(seen(), ['SQ_WAIT_ANY']);
    search('nothing of this name');
    assert.deepEqual(seen(), []);
  });

  it('leaves the groups as they were', () => {
    search('wait');
    search('');
    assert.deepEqual(seen(), ['SQ_INSTS_VALU', 'SQ_INSTS_LDS']);
    assert.equal(node.querySelectorAll('[hidden]').length, 0);
  });

  it('is there once, and not where no profile is', async () => {
    const more = document.createElement('p');
    node.querySelector('.wb')!.append(more);
    await new Promise(resolve => setTimeout(resolve));
    assert.equal(node.querySelectorAll('input').length, 1);
  });
});
