/**
 * The run history of each notebook: what ran, how long, whether it was right, and what changed.
 *
 * Stored in the browser's state, so that it survives a reload and a kernel restart.
 */

import type { IStateDB } from '@jupyterlab/statedb';
import type { ReadonlyPartialJSONValue } from '@lumino/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';

import type { ICellPayload, IRun } from './payload';

const STATE_KEY = 'hipkittens-workbench:history:';

/** Entries kept for a notebook. */
export const LIMIT = 200;

export interface IHistoryEntry extends IRun {
  /** Name of the module. */
  module: string;
  /** Findings of a sanitized run; absent for other runs. */
  findings?: number;
  /** File name of the notebook, for runs of the folder's file. */
  notebook?: string;
}

/**
 * The history with an entry added: newest first, each run once, no more than the limit.
 */
export function withEntry(history: readonly IHistoryEntry[], entry: IHistoryEntry): IHistoryEntry[] {
  const same = (other: IHistoryEntry) =>
    other.module === entry.module && other.at === entry.at && other.kind === entry.kind;
  if (history.some(same)) {
    return [...history];
  }
  return [entry, ...history].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, LIMIT);
}

export class RunHistory {
  constructor(private readonly state: IStateDB | null = null) {}

  get changed(): ISignal<this, string> {
    return this._changed;
  }

  of(path: string): readonly IHistoryEntry[] {
    return this.byPath.get(path) ?? [];
  }

  /** Reads the stored runs of a notebook. */
  async restore(path: string): Promise<void> {
    const kept = await this.state?.fetch(STATE_KEY + path);
    if (Array.isArray(kept)) {
      // Oldest first, in order of arrival: runs of the same moment keep their order.
      const came = [...(kept as unknown as IHistoryEntry[])].reverse();
      this.byPath.set(path, came.reduce(withEntry, [...this.of(path)]));
      this._changed.emit(path);
    }
  }

  /** Adds a cell's result, if its run is new. */
  add(path: string, payload: ICellPayload): void {
    if (payload.run) {
      const entry: IHistoryEntry = { ...payload.run, module: payload.name };
      if (entry.kind === 'sanitize') {
        entry.findings = payload.diagnostics.filter(finding => finding.source === 'sanitizer').length;
      }
      this.addAll(path, [entry]);
    }
  }

  /** Adds runs that are new. */
  addAll(path: string, entries: readonly IHistoryEntry[]): void {
    const before = this.of(path);
    const after = entries.reduce(withEntry, [...before]);
    if (after.length !== before.length || after[0] !== before[0]) {
      this.byPath.set(path, after);
      this._changed.emit(path);
      void this.state?.save(STATE_KEY + path, after as unknown as ReadonlyPartialJSONValue);
    }
  }

  /** Moves the history along with a notebook that is renamed or moved. */
  move(from: string, to: string): void {
    const moved = this.of(from);
    if (from !== to && moved.length) {
      this.clear(from);
      this.addAll(to, [...moved].reverse());
    }
  }

  clear(path: string): void {
    this.byPath.delete(path);
    this._changed.emit(path);
    void this.state?.remove(STATE_KEY + path);
  }

  private byPath = new Map<string, IHistoryEntry[]>();
  private _changed = new Signal<this, string>(this);
}
