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
    expect(parsePayload(PAYLOAD)?.name).toBe('k');
    expect(parsePayload({ ...PAYLOAD, version: 2 })).toBeNull();
    expect(parsePayload(null)).toBeNull();
    expect(parsePayload('x')).toBeNull();
    expect(parsePayload({ version: 1, name: 'k' })?.diagnostics).toEqual([]);
    expect(parsePayload({ ...PAYLOAD, heat: { lines: [], measures: [] } })?.heat).toBeNull();
  });

  it('has the checksum that Python computes', () => {
    // zlib.crc32(b"123456789") is the check value of CRC-32.
    expect(checksum('%%hipkittens k\n123456789')).toBe(0xcbf43926);
    expect(checksum('%%hipkittens other\n123456789 \n\n')).toBe(0xcbf43926);
    expect(checksum('%%hipkittens k')).toBe(0);
    // zlib.crc32("ä€".encode())
    expect(checksum('x\nä€')).toBe(0xd62dfa80);
  });

  it('is about this text only while it is this text', () => {
    const payload = { ...PAYLOAD, checksum: 0xcbf43926 } as ICellPayload;
    expect(isCurrent(payload, '%%hipkittens k\n123456789')).toBe(true);
    expect(isCurrent(payload, '%%hipkittens k\n12345678')).toBe(false);
    expect(isCurrent({ ...payload, checksum: null }, 'anything')).toBe(true);
  });
});
