/** What timelines are painted from; the page's script is plain JavaScript, as any notebook can load it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

// @ts-expect-error the script has no types
import { Track, after, duration, paint, paintBins } from '../../views/waves/waves.js';

const meanings = {
  kinds: [
    ['VALU', 0],
    ['MFMA', 1]
  ],
  reasons: [
    ['issues', -1],
    ['waits', 1]
  ]
};
const colours = [
  [255, 0, 0],
  [0, 0, 255]
];

/** One lane: a VALU from 0 to 10, a MFMA from 10 to 40, a wait from 40 to 60; then a VALU from 60 to 100. */
function track() {
  const columns: [string, Float32Array | Uint32Array | Int32Array | Uint8Array][] = [
    ['f4', new Float32Array([0, 10, 40, 60])],
    ['f4', new Float32Array([10, 30, 20, 40])],
    ['u4', new Uint32Array([0, 1, 1, 0])],
    ['i4', new Int32Array([-1, -1, 1, -1])],
    ['f4', new Float32Array([0, 10, 60, 40])],
    ['f4', new Float32Array([10, 40, 100, 60])],
    ['u4', new Uint32Array([0, 1, 3, 2])],
    ['u1', new Uint8Array([0, 1, 1, 0])],
    ['u1', new Uint8Array([0, 0, 1, 0])]
  ];
  const names = ['start', 'cycles', 'op', 'cause', 'begin', 'end', 'span', 'kind', 'reason'];
  const bytes = new Uint8Array(16 * columns.length);
  const at: Record<string, [string, number, number]> = {};
  columns.forEach(([type, values], i) => {
    at[names[i]] = [type, 16 * i, values.length];
    bytes.set(new Uint8Array(values.buffer), 16 * i);
  });
  const header = { at, tracks: [0, 3, 4], cycles: 100, lanes: [[0, 0, 0, 0, 100]] };
  return new Track(header, bytes.buffer, 0, meanings);
}

const pixels = (sums: Float32Array) =>
  Array.from({ length: sums.length / 4 }, (_, x) => Array.from(sums.slice(4 * x, 4 * x + 4), Math.round));

describe('after', () => {
  it('finds the first that is greater', () => {
    const values = [1, 3, 3, 7];
    assert.deepEqual(
      [0, 1, 3, 7].map(value => after(values, value, 0, 4)),
      [0, 1, 3, 4]
    );
  });
});

describe('duration', () => {
  it('has neither zeros behind a point nor an exponent', () => {
    const seconds = [5e-9, 9.986e-7, 9.996e-7, 1.849e-5, 1.6946e-3];
    assert.deepEqual(
      seconds.map(each => duration(each, 3)),
      ['5.00 ns', '999 ns', '1.00 us', '18.5 us', '1,695 us']
    );
  });
});

describe('paint', () => {
  it('adds up what lies under a pixel by its share', () => {
    const sums = new Float32Array(4 * 5);
    paint(track(), 0, 0, 5 / 100, 5, sums, colours, null);
    // Half of the first pixel is the VALU, half the MFMA; the third one's gap is a wait, on the other track.
    assert.deepEqual(pixels(sums), [
      [128, 0, 128, 1],
      [0, 0, 255, 1],
      [0, 0, 0, 0],
      [255, 0, 0, 1],
      [255, 0, 0, 1]
    ]);
  });

  it('shows single cycles', () => {
    const sums = new Float32Array(4 * 4);
    paint(track(), 0, 8, 1, 4, sums, colours, null);
    assert.deepEqual(
      pixels(sums).map(([red]) => red),
      [255, 255, 0, 0]
    );
  });

  it('dims what is not chosen', () => {
    const sums = new Float32Array(4 * 10);
    paint(track(), 0, 0, 10 / 100, 10, sums, colours, new Uint8Array([0, 1]));
    assert.ok(sums[3] < 0.5);
    assert.ok(Math.abs(sums[4 * 2 + 3] - 1) < 0.005);
  });
});

describe('paintBins', () => {
  it('shows the same as the segments', () => {
    for (const [from, to] of [
      [0, 100],
      [5, 45]
    ]) {
      const scale = 20 / (to - from);
      const exact = new Float32Array(4 * 20);
      const summed = new Float32Array(4 * 20);
      paint(track(), 0, from, scale, 20, exact, colours, null);
      paintBins(track(), 0, from, scale, 20, summed, colours);
      summed.forEach((value, i) => assert.ok(Math.abs(value - exact[i]) < 2));
    }
  });
});
