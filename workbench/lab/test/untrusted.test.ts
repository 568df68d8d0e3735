import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isTrusted, withholdWidgets } from '../src/untrusted';

const STATE = { 'application/vnd.jupyter.widget-state+json': { state: {} } };

/** A notebook with cells, such as "code" and "code!", which is trusted. */
function notebook(...cells: string[]): any {
  const kept: Record<string, unknown> = { widgets: STATE, kernelspec: { name: 'python3' } };
  return {
    cells: cells.map(cell => ({ type: cell.replace('!', ''), trusted: cell.endsWith('!') })),
    getMetadata: (key: string) => kept[key]
  };
}

describe('a notebook', () => {
  for (const [cells, trusted] of [
    [['code!', 'code!'], true],
    [['code!', 'markdown'], true],
    [['code!', 'code'], false],
    [['markdown!'], false],
    [[], false]
  ] as [string[], boolean][]) {
    it(`of ${cells} is trusted: ${trusted}`, () => {
      assert.equal(isTrusted(notebook(...cells)), trusted);
    });
  }
});

describe('saved widgets', () => {
  const opened = async (model: any) => {
    withholdWidgets({ context: { ready: Promise.resolve(), model } } as any);
    await Promise.resolve();
    return model;
  };

  it('are not there until all cells are trusted; all else is', async () => {
    const model = await opened(notebook('code!', 'code'));
    assert.equal(model.getMetadata('widgets'), undefined);
    assert.deepEqual(model.getMetadata('kernelspec'), { name: 'python3' });
    model.cells[1].trusted = true;
    assert.equal(model.getMetadata('widgets'), STATE);
  });

  it('of a trusted notebook are there at once', async () => {
    assert.equal((await opened(notebook('code!'))).getMetadata('widgets'), STATE);
  });
});
