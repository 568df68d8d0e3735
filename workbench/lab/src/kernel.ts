/**
 * The connection to a notebook's kernel: questions over a comm, answered by `workbench.lab.comm`.
 *
 * A kernel without `%load_ext workbench` refuses the comm; that is a normal state, and the connection is tried again
 * when a cell brings a result. A busy kernel answers when it is done.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import { PromiseDelegate, type JSONObject } from '@lumino/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';

import type { IHistoryEntry } from './history';
import type { IListing, Edit } from './isa';
import type { IKernel, Origin } from './payload';

export const COMM_TARGET = 'hipkittens-workbench';

export interface IDeviceState {
  name: string;
  label: string;
  arch: string;
  /** Where its times come from. */
  origin: Origin;
  default: boolean;
  memory_total: number;
  memory_used: number;
  /** Memory of this computer that an emulated device can use; 0 on a GPU. */
  memory_limit?: number;
}

export interface IModuleState {
  name: string;
  arch: string;
  kernels: (IKernel & { counted: boolean })[];
  previous: boolean;
}

export interface IKernelState {
  protocol: number;
  devices: IDeviceState[];
  compiler: { kind: string; version: string; reason: string } | null;
  modules: IModuleState[];
  specs: string[];
  options: string[];
  functions: string[];
}

export interface IIsaReply {
  module: string;
  kernels: string[];
  listing: IListing;
  previous: IListing | null;
  /** Steps from `previous`. */
  edits: Edit[] | null;
}

/** Progress of a launch or a sweep. */
export interface IProgress {
  name: string;
  done: number;
  total: number;
  /** Seconds that the rest takes at the present rate; null before there is one. */
  left: number | null;
}

/** Raised if the kernel has no workbench; the user loads it with `%load_ext workbench`. */
export class NotLoaded extends Error {
  constructor() {
    super('The workbench is not loaded in this kernel. Run %load_ext workbench.');
  }
}

interface IAnswer {
  id?: number;
  event?: string;
  runs?: IHistoryEntry[];
  name?: string;
  done?: number;
  total?: number;
  result?: unknown;
  error?: { type: string; message: string };
}

export class KernelLine {
  constructor(readonly session: ISessionContext) {
    session.kernelChanged.connect(this.onKernel, this);
    session.statusChanged.connect(this.onStatus, this);
    session.disposed.connect(this.dispose, this);
  }

  /** Emitted when the kernel says that its modules or launches changed, and when the connection opens or closes. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Emitted with runs outside HipKittens cells. */
  get ran(): ISignal<this, readonly IHistoryEntry[]> {
    return this._ran;
  }

  /** The launch or sweep under way. */
  get progress(): IProgress | null {
    return this._progress;
  }

  /** Emitted when `progress` changes. */
  get went(): ISignal<this, void> {
    return this._went;
  }

  get isOpen(): boolean {
    return this._comm !== null && this._ready;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /**
   * Asks the kernel.
   *
   * Rejects with `NotLoaded` where the kernel has no workbench, with the kernel's own message where it
   * cannot answer.
   */
  async ask<T>(method: string, params: JSONObject = {}): Promise<T> {
    const comm = await this.open();
    const id = this._next++;
    const answer = new PromiseDelegate<unknown>();
    this._waiting.set(id, answer);
    comm.send({ id, method, params });
    return (await answer.promise) as T;
  }

  dispose(): void {
    if (this._disposed) {
      return;
    }
    this._disposed = true;
    this.session.kernelChanged.disconnect(this.onKernel, this);
    this.session.statusChanged.disconnect(this.onStatus, this);
    this.drop();
    Signal.clearData(this);
  }

  private open(): Promise<Kernel.IComm> {
    this._opening ??= this.connect().catch(error => {
      this._opening = null;
      throw error;
    });
    return this._opening;
  }

  private async connect(): Promise<Kernel.IComm> {
    await this.session.ready;
    const kernel = this.session.session?.kernel;
    if (!kernel || this._disposed) {
      throw new NotLoaded();
    }
    const comm = kernel.createComm(COMM_TARGET);
    const ready = new PromiseDelegate<void>();
    comm.onMsg = message => {
      const data = message.content.data as unknown as IAnswer;
      if (data.event === 'ready') {
        this._ready = true;
        ready.resolve();
      } else {
        this.receive(data);
      }
    };
    comm.onClose = (_message: KernelMessage.ICommCloseMsg) => {
      ready.reject(new NotLoaded());
      if (this._comm === comm) {
        this.drop();
      }
    };
    this._comm = comm;
    this._connecting = ready;
    comm.open();
    untilHeard(kernel, ready.promise, () => comm.open());
    await ready.promise;
    this._changed.emit();
    return comm;
  }

  private receive(answer: IAnswer): void {
    if (answer.event) {
      if (answer.event === 'progress') {
        this.go(answer.name ?? '', answer.done ?? 0, answer.total ?? 0);
      } else if (answer.event === 'runs') {
        this._ran.emit(answer.runs ?? []);
      } else {
        this._changed.emit();
      }
      return;
    }
    const waiting = answer.id === undefined ? undefined : this._waiting.get(answer.id);
    if (waiting && answer.id !== undefined) {
      this._waiting.delete(answer.id);
      if (answer.error) {
        waiting.reject(new Error(answer.error.message));
      } else {
        waiting.resolve(answer.result);
      }
    }
  }

  private go(name: string, done: number, total: number): void {
    const now = Date.now();
    if (done >= total) {
      this._progress = null;
    } else {
      if (this._progress?.name !== name || done < this._progress.done) {
        this.first = { now, done };
      }
      const pace = done - this.first.done;
      const left = pace > 0 ? ((total - done) * (now - this.first.now)) / pace / 1000 : null;
      this._progress = { name, done, total, left };
    }
    this._went.emit();
  }

  private onKernel(): void {
    this.drop();
    this._changed.emit();
  }

  private onStatus(_session: ISessionContext, status: Kernel.Status): void {
    if (
      status === 'restarting' ||
      status === 'autorestarting' ||
      status === 'dead' ||
      status === 'terminating'
    ) {
      this.drop();
    }
  }

  private drop(): void {
    // A refused comm is no news: reporting it would make the callers try again at once.
    const wasOpen = this._ready;
    this._progress = null;
    this._comm = null;
    this._ready = false;
    this._opening = null;
    // A kernel that restarts before it answers never will.
    this._connecting?.reject(new NotLoaded());
    this._connecting = null;
    for (const waiting of this._waiting.values()) {
      waiting.reject(new NotLoaded());
    }
    this._waiting.clear();
    if (wasOpen && !this._disposed) {
      this._changed.emit();
    }
  }

  private _comm: Kernel.IComm | null = null;
  private _opening: Promise<Kernel.IComm> | null = null;
  private _connecting: PromiseDelegate<void> | null = null;
  private _ready = false;
  private _disposed = false;
  private _progress: IProgress | null = null;
  private first = { now: 0, done: 0 };
  private _went = new Signal<this, void>(this);
  private _next = 1;
  private _waiting = new Map<number, PromiseDelegate<unknown>>();
  private _changed = new Signal<this, void>(this);
  private _ran = new Signal<this, readonly IHistoryEntry[]>(this);
}

/** Milliseconds between two checks whether a kernel has received a message. */
const LOOK = 3000;

/**
 * Repeats a message that a kernel has not received: it owes an answer, but is idle.
 *
 * A message to a kernel that is just starting may be lost, and nobody is notified.
 *
 * @param answered - settles with the answer.
 * @param again - sends it once more.
 */
export function untilHeard(
  kernel: Pick<Kernel.IKernelConnection, 'status' | 'isDisposed'>,
  answered: Promise<unknown>,
  again: () => void
): void {
  let idle = 0;
  const timer = setInterval(() => {
    if (kernel.isDisposed) {
      clearInterval(timer);
      return;
    }
    idle = kernel.status === 'idle' || kernel.status === 'unknown' ? idle + 1 : 0;
    // Twice: the message that it just received has not made it busy yet.
    if (idle > 1) {
      idle = 0;
      again();
    }
  }, LOOK);
  const end = (): void => clearInterval(timer);
  answered.then(end, end);
}

const lines = new WeakMap<ISessionContext, KernelLine>();

/**
 * The connection of a session, one for each.
 */
export function kernelLine(session: ISessionContext): KernelLine {
  let line = lines.get(session);
  if (!line || line.isDisposed) {
    line = new KernelLine(session);
    lines.set(session, line);
  }
  return line;
}
