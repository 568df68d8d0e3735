import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';

import { bytes, count, percent, quantity } from '../src/format';
import { chosenMeasure, heatDetails, heatExtension, setHeat, shares } from '../src/heat';
import type { IHeat } from '../src/payload';

const HEAT: IHeat = {
  kernel: 'k',
  measures: [
    { key: 'issue_cycles', label: 'issue cycles', unit: 'cycles', origin: 'modelled' },
    { key: 'bytes', label: 'bytes', unit: 'bytes', origin: 'counted', doc: 'what lanes ask for' }
  ],
  lines: [
    { line: 2, values: { issue_cycles: 60, bytes: 0 }, instructions: { valu: 5, lds: 9 } },
    { line: 4, values: { issue_cycles: 20, bytes: 2048 }, instructions: {} }
  ],
  elsewhere: { issue_cycles: 20 },
  note: 'waits'
};

describe('line heat', () => {
  it('is a share of all that the kernel has', () => {
    assert.deepEqual(
      [...shares(HEAT, 'issue_cycles')],
      [
        [2, 0.6],
        [4, 0.2]
      ]
    );
    assert.deepEqual([...shares(HEAT, 'bytes')], [[4, 1]]);
    assert.equal(shares(HEAT, 'stall_cycles').size, 0);
    assert.equal(chosenMeasure(HEAT, 'stall_cycles').key, 'issue_cycles');
  });

  it('stays on its lines through edits, and says that it is older', () => {
    const view = new EditorView({
      parent: document.body,
      state: EditorState.create({ doc: 'a\nb\nc\nd\ne', extensions: heatExtension() })
    });
    const shown = () =>
      [...view.dom.querySelectorAll<HTMLElement>('.jp-hipkittens-HeatMark')].map(mark => [
        mark.textContent,
        mark.dataset.stale
      ]);
    assert.equal(view.dom.dataset.hipkittensHeat, 'false');
    view.dispatch({ effects: setHeat.of({ heat: HEAT, measure: 'issue_cycles' }) });
    assert.deepEqual(shown(), [
      ['60%', 'false'],
      ['20%', 'false']
    ]);
    assert.equal(view.dom.dataset.hipkittensHeat, 'true');
    view.dispatch({ changes: { from: 0, insert: 'new\n' } });
    assert.deepEqual(shown(), [
      ['60%', 'true'],
      ['20%', 'true']
    ]);
    view.dispatch({ effects: setHeat.of({ heat: HEAT, measure: 'bytes' }) });
    assert.deepEqual(shown(), [['100%', 'false']]);
    view.dispatch({ effects: setHeat.of(null) });
    assert.deepEqual(shown(), []);
  });

  it('has details with origin', () => {
    const text = heatDetails(HEAT, HEAT.lines[0], 'issue_cycles').textContent ?? '';
    assert.ok(text.includes('issue cycles60 cycles60%modelled'));
    assert.ok(text.indexOf('lds') < text.indexOf('valu'));
    assert.ok(text.includes('waits'));
    const titles = [...heatDetails(HEAT, HEAT.lines[1], 'bytes').querySelectorAll('tr')].map(
      row => row.title
    );
    assert.deepEqual(titles, ['', 'what lanes ask for']);
  });
});

describe('numbers', () => {
  it('are short', () => {
    assert.deepEqual([0, 999, 12345, 3.14159, 2.5e6, 4e9].map(count), [
      '0',
      '999',
      '12k',
      '3.14',
      '2.5M',
      '4.0G'
    ]);
    assert.deepEqual([0, 512, 2048, 20 * 2 ** 20, 288 * 2 ** 30].map(bytes), [
      '0 B',
      '512 B',
      '2.0 KiB',
      '20 MiB',
      '288 GiB'
    ]);
    assert.deepEqual([0, 0.0001, 0.05, 0.5, 1].map(percent), ['0%', '<0.1%', '5.0%', '50%', '100%']);
    assert.equal(quantity(2048, 'bytes'), '2.0 KiB');
    assert.equal(quantity(3, 'cycles'), '3 cycles');
  });
});
