import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePayload, checksum, isCurrent, type ICellPayload } from '../src/payload';

const PAYLOAD = {
  version: 1,
  checksum: null,
  name: 'k',
  status: 'compiled',
  device: null,
  origin: '',
  compile: null,
  diagnostics: [],
  kernels: [],
  run: null,
  heat: null
};

describe('payload', () => {
  it('is read where it is one of this version', () => {
    assert.equal(parsePayload(PAYLOAD)?.name, 'k');
    assert.equal(parsePayload({ ...PAYLOAD, version: 2 }), null);
    assert.equal(parsePayload(null), null);
    assert.equal(parsePayload('x'), null);
    assert.deepEqual(parsePayload({ version: 1, name: 'k' })?.diagnostics, []);
    assert.equal(parsePayload({ ...PAYLOAD, heat: { lines: [], measures: [] } })?.heat, null);
  });

  it('has the checksum that Python computes', () => {
    // zlib.crc32(b"123456789") is the check value of CRC-32.
    assert.equal(checksum('%%hipkittens k\n123456789'), 0xcbf43926);
    assert.equal(checksum('%%hipkittens other\n123456789 \n\n'), 0xcbf43926);
    assert.equal(checksum('%%hipkittens k'), 0);
    // zlib.crc32("ä€".encode())
    assert.equal(checksum('x\nä€'), 0xd62dfa80);
  });

  it('is about this text only while it is this text', () => {
    const payload = { ...PAYLOAD, checksum: 0xcbf43926 } as ICellPayload;
    assert.equal(isCurrent(payload, '%%hipkittens k\n123456789'), true);
    assert.equal(isCurrent(payload, '%%hipkittens k\n12345678'), false);
    assert.equal(isCurrent({ ...payload, checksum: null }, 'anything'), true);
  });
});
