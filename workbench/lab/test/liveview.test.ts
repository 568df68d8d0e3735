import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasWidget } from '../src/liveview';

describe('a live view', () => {
  const kernel = (comms: Record<string, unknown>) => {
    const asked: unknown[] = [];
    const requestCommInfo: any = async (content: unknown) => {
      asked.push(content);
      return { content: { status: 'ok', comms } };
    };
    return { asked, requestCommInfo };
  };

  it('is what this page saw opened, without a question to a kernel that may be busy', async () => {
    const busy = kernel({});
    assert.equal(await hasWidget(busy, new Set(['a']), 'a'), true);
    assert.deepEqual(busy.asked, []);
  });

  it('is what the kernel still has, after a reload', async () => {
    const alive = kernel({ a: {} });
    assert.equal(await hasWidget(alive, new Set(), 'a'), true);
    assert.deepEqual(alive.asked, [{ target_name: 'jupyter.widget' }]);
  });

  it('is nothing for a kernel that never had it, and without a kernel', async () => {
    assert.equal(await hasWidget(kernel({ b: {} }), new Set(), 'a'), false);
    assert.equal(await hasWidget(null, new Set(), 'a'), false);
  });
});
