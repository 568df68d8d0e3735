import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { untilHeard } from '../src/kernel';

type Status = Parameters<typeof untilHeard>[0]['status'];

describe('what a kernel has not heard', () => {
  let kernel: { status: Status; isDisposed: boolean };
  let said: number;
  let answer: () => void;

  beforeEach(() => {
    mock.timers.enable();
    kernel = { status: 'idle', isDisposed: false };
    said = 0;
    untilHeard(kernel, new Promise<void>(resolve => (answer = resolve)), () => said++);
  });

  afterEach(() => mock.timers.reset());

  it('is said again while the kernel does nothing', () => {
    mock.timers.tick(5000);
    assert.equal(said, 0);
    mock.timers.tick(10000);
    assert.equal(said, 2);
  });

  it('is not said again to one that is busy or starts', () => {
    for (const status of ['busy', 'starting', 'restarting'] as const) {
      kernel.status = status;
      mock.timers.tick(60000);
    }
    assert.equal(said, 0);
    kernel.status = 'idle';
    mock.timers.tick(7000);
    assert.equal(said, 1);
  });

  it('is not said again once there is an answer, or no kernel', async () => {
    answer();
    await Promise.resolve();
    await Promise.resolve();
    mock.timers.tick(60000);
    untilHeard(kernel, new Promise(() => undefined), () => said++);
    kernel.isDisposed = true;
    mock.timers.tick(60000);
    assert.equal(said, 0);
  });
});
