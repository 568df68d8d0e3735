import { untilHeard } from '../src/kernel';

type Status = Parameters<typeof untilHeard>[0]['status'];

describe('what a kernel has not heard', () => {
  let kernel: { status: Status; isDisposed: boolean };
  let said: number;
  let answer: () => void;

  beforeEach(() => {
    jest.useFakeTimers();
    kernel = { status: 'idle', isDisposed: false };
    said = 0;
    untilHeard(kernel, new Promise<void>(resolve => (answer = resolve)), () => said++);
  });

  afterEach(() => jest.useRealTimers());

  it('is said again while the kernel does nothing', () => {
    jest.advanceTimersByTime(5000);
    expect(said).toBe(0);
    jest.advanceTimersByTime(10000);
    expect(said).toBe(2);
  });

  it('is not said again to one that is busy or starts', () => {
    for (const status of ['busy', 'starting', 'restarting'] as const) {
      kernel.status = status;
      jest.advanceTimersByTime(60000);
    }
    expect(said).toBe(0);
    kernel.status = 'idle';
    jest.advanceTimersByTime(7000);
    expect(said).toBe(1);
  });

  it('is not said again once there is an answer, or no kernel', async () => {
    answer();
    await Promise.resolve();
    await Promise.resolve();
    jest.advanceTimersByTime(60000);
    untilHeard(kernel, new Promise(() => undefined), () => said++);
    kernel.isDisposed = true;
    jest.advanceTimersByTime(60000);
    expect(said).toBe(0);
  });
});
