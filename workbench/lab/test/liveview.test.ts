jest.mock('@lumino/widgets', () => ({ PanelLayout: class {}, Widget: class {} }));

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
    expect(await hasWidget(busy, new Set(['a']), 'a')).toBe(true);
    expect(busy.asked).toEqual([]);
  });

  it('is what the kernel still has, after a reload', async () => {
    const alive = kernel({ a: {} });
    expect(await hasWidget(alive, new Set(), 'a')).toBe(true);
    expect(alive.asked).toEqual([{ target_name: 'jupyter.widget' }]);
  });

  it('is nothing for a kernel that never had it, and without a kernel', async () => {
    expect(await hasWidget(kernel({ b: {} }), new Set(), 'a')).toBe(false);
    expect(await hasWidget(null, new Set(), 'a')).toBe(false);
  });
});
