import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nullTranslator } from '@jupyterlab/translation';

import { checksum, type ICellPayload, type IRun } from '../src/payload';
import { standing } from '../src/standing';

const trans = nullTranslator.load('');
const CELL = '%%hipkittens scale\n__global__ void scale() {}';

function result(run: Partial<IRun>): ICellPayload {
  const whole = { kind: 'verify', at: '', kernel: '', time: null, verified: null, changes: [], error: '' };
  return { checksum: checksum(CELL), run: { ...whole, ...run } } as unknown as ICellPayload;
}

describe('the sidebar claims of a cell', () => {
  const states: [string, ICellPayload | null, string, boolean, RegExp][] = [
    ['that never ran', null, CELL, false, /^Verify compares with$/],
    ['whose options were refused', null, CELL, false, /^Verify compares with$/],
    ['that was only compiled', result({ kind: 'compile' }), CELL, false, /^Verify compares with$/],
    ['that runs', result({ verified: true }), CELL, true, /^Verify will compare with$/],
    ['that is right', result({ verified: true }), CELL, false, /^Verified against$/],
    ['that is right and was profiled', result({ kind: 'profile', verified: true }), CELL, false, /^Verified/],
    ['that is wrong', result({ verified: false }), CELL, false, /^Differs from$/],
    ['that stopped', result({ error: 'KernelFault' }), CELL, false, /^Not verified, the run failed/],
    ['edited since', result({ verified: true }), `${CELL} // more`, false, /^Edited since/],
    ['edited since it was wrong', result({ verified: false }), `${CELL} // more`, false, /^Edited since/]
  ];
  for (const [cell, payload, text, running, claim] of states) {
    it(`of one ${cell} what its result says`, () => {
      assert.match(standing(payload, text, running, trans), claim);
    });
  }
});
