import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIMIT, RunHistory, withEntry, type IHistoryEntry } from '../src/history';
import { parsePayload } from '../src/payload';

function entry(at: number, module = 'k'): IHistoryEntry {
  return {
    module,
    kind: 'run',
    at: new Date(at * 1000).toISOString(),
    kernel: '',
    time: null,
    verified: null,
    changes: [],
    error: ''
  };
}

describe('run history', () => {
  it('is newest first, has each run once, and is bounded', () => {
    let history: IHistoryEntry[] = [];
    for (const at of [3, 1, 2, 3]) {
      history = withEntry(history, entry(at));
    }
    assert.deepEqual(
      history.map(one => Date.parse(one.at) / 1000),
      [3, 2, 1]
    );
    assert.equal(withEntry(history, entry(3, 'other')).length, 4);
    for (let at = 0; at < LIMIT + 50; at++) {
      history = withEntry(history, entry(at));
    }
    assert.equal(history.length, LIMIT);
    assert.equal(Date.parse(history[0].at) / 1000, LIMIT + 49);
  });

  it('says what a sanitized run found', () => {
    const history = new RunHistory();
    const finding = { line: 3, severity: 'error', message: 'race', source: 'sanitizer' };
    const payload = { version: 1, name: 'k', diagnostics: [finding, { ...finding, source: 'compiler' }] };
    history.add('a.ipynb', parsePayload({ ...payload, run: { ...entry(1), kind: 'sanitize' } })!);
    history.add('a.ipynb', parsePayload({ ...payload, run: entry(2) })!);
    assert.deepEqual(
      history.of('a.ipynb').map(one => one.findings),
      [undefined, 1]
    );
  });

  it('takes several runs at once, each once', () => {
    const history = new RunHistory();
    const changes: string[] = [];
    history.changed.connect((_, path) => void changes.push(path));
    history.addAll('a.ipynb', [entry(1), entry(3), entry(2), entry(3)]);
    history.addAll('a.ipynb', [entry(3)]);
    assert.equal(history.of('a.ipynb').length, 3);
    assert.deepEqual(changes, ['a.ipynb']);
  });

  it('goes along with a notebook that is renamed', () => {
    const history = new RunHistory();
    history.addAll('a.ipynb', [entry(1), entry(2), entry(2, 'b')]);
    const before = history.of('a.ipynb');
    history.addAll('new.ipynb', [entry(9)]);
    history.move('a.ipynb', 'new.ipynb');
    assert.deepEqual(history.of('a.ipynb'), []);
    assert.deepEqual(history.of('new.ipynb'), [entry(9), ...before]);
    history.move('new.ipynb', 'new.ipynb');
    history.move('none.ipynb', 'new.ipynb');
    assert.equal(history.of('new.ipynb').length, 4);
  });

  it('comes back from the state, together with what came since', async () => {
    const kept = new Map<string, unknown>();
    const state: any = {
      fetch: async (key: string) => kept.get(key),
      save: async (key: string, value: unknown) => void kept.set(key, JSON.parse(JSON.stringify(value))),
      remove: async (key: string) => void kept.delete(key)
    };
    const payload = (at: number) => parsePayload({ version: 1, name: 'k', run: entry(at) })!;
    const first = new RunHistory(state);
    first.add('a.ipynb', payload(1));
    first.add('a.ipynb', payload(1));
    await Promise.resolve();
    const second = new RunHistory(state);
    second.add('a.ipynb', payload(2));
    kept.set('hipkittens-workbench:history:a.ipynb', [entry(1)]);
    await second.restore('a.ipynb');
    assert.equal(second.of('a.ipynb').length, 2);
    assert.deepEqual(second.of('b.ipynb'), []);
    // Those of one moment come back in the order in which they were.
    const third = new RunHistory(state);
    third.addAll('c.ipynb', [entry(1), entry(2, 'a'), entry(2, 'b'), entry(2, 'c')]);
    await Promise.resolve();
    const fourth = new RunHistory(state);
    await fourth.restore('c.ipynb');
    assert.deepEqual(fourth.of('c.ipynb'), third.of('c.ipynb'));
    assert.deepEqual(
      fourth.of('c.ipynb').map(one => one.module),
      ['c', 'b', 'a', 'k']
    );
    second.clear('a.ipynb');
    assert.deepEqual(second.of('a.ipynb'), []);
  });
});
