/**
 * Names that completion and hover know: HIP's, the magics', and the tile library's.
 *
 * The library's come from a kernel, which reads its own headers. They are kept in the browser's state, so that
 * after a reload they are there before a kernel is.
 */

import type { IStateDB } from '@jupyterlab/statedb';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import type { KernelLine } from './kernel';
import { HIP_ENTRIES, MAGIC_FLAGS, setKittensWords, type IEntry } from './keywords';

const STATE_KEY = 'hipkittens-workbench:names';

interface IIndexEntry extends IEntry {
  scope: string;
  line: number;
}

interface IIndex {
  digest: string;
  entries?: IIndexEntry[];
}

export class Names {
  constructor(private readonly state: IStateDB | null = null) {
    this.rebuild([]);
    void state?.fetch(STATE_KEY).then(value => {
      const kept = value as unknown as IIndex | undefined;
      if (!this.digest && kept?.entries) {
        this.take(kept);
      }
    });
  }

  /** All names with this beginning, the exact ones first, each name once. */
  startingWith(prefix: string): IEntry[] {
    const found: IEntry[] = [];
    for (const [name, entries] of this.byName) {
      if (name.startsWith(prefix)) {
        found.push(entries[0]);
      }
    }
    return found.sort((a, b) => a.name.length - b.name.length || a.name.localeCompare(b.name));
  }

  /** Everything known of a name; overloads are several entries. */
  lookup(name: string): IEntry[] {
    return this.byName.get(name) ?? [];
  }

  /** Members of one of the library's types, such as "rt", each once. */
  membersOf(type: string): IEntry[] {
    const found = new Map<string, IEntry>();
    for (const entries of this.byName.values()) {
      for (const entry of entries as (IEntry & Partial<IIndexEntry>)[]) {
        if (entry.scope === `kittens::${type}` && !found.has(entry.name)) {
          found.set(entry.name, entry);
        }
      }
    }
    return [...found.values()].sort((a, b) => a.name.localeCompare(b.name));
  }

  /** Headers that a cell can include: the tile library's, that of all of it first, then HIP's. */
  headers(): string[] {
    const found = new Set<string>();
    for (const entries of this.byName.values()) {
      for (const { header } of entries) {
        if (/^[\w./-]+\.(?:cuh|h)$/.test(header)) {
          found.add(header);
        }
      }
    }
    if ([...found].some(header => header.endsWith('.cuh'))) {
      found.add('kittens.cuh');
    }
    const rank = (header: string) => (header.endsWith('.cuh') ? 0 : 100) + header.split('/').length;
    return [...found].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  }

  /** Option of the magic line. */
  flags(prefix: string): IEntry[] {
    return MAGIC_FLAGS.filter(flag => flag.name.startsWith(prefix));
  }

  flag(name: string): IEntry | null {
    return MAGIC_FLAGS.find(flag => flag.name === name) ?? null;
  }

  /** Asks a kernel for the library's names, where they differ from those known. */
  async update(line: KernelLine): Promise<void> {
    const reply = await line.ask<IIndex>('index', { digest: this.digest });
    if (reply.entries) {
      this.take(reply);
      await this.state?.save(STATE_KEY, reply as unknown as ReadonlyPartialJSONObject);
    }
  }

  private take(index: IIndex): void {
    this.digest = index.digest;
    this.rebuild(index.entries ?? []);
    setKittensWords((index.entries ?? []).filter(entry => isPublic(entry)).map(entry => entry.name));
  }

  private rebuild(entries: IIndexEntry[]): void {
    this.byName.clear();
    // What stands in `kittens` itself comes before members of the same name.
    const ordered = [...entries].sort((a, b) => depth(a) - depth(b));
    for (const entry of [...HIP_ENTRIES, ...ordered]) {
      const known = this.byName.get(entry.name);
      if (known) {
        known.push(entry);
      } else {
        this.byName.set(entry.name, [entry]);
      }
    }
  }

  private digest = '';
  private byName = new Map<string, IEntry[]>();
}

function depth(entry: IIndexEntry): number {
  return entry.scope.split('::').length;
}

function isPublic(entry: IIndexEntry): boolean {
  return entry.scope === 'kittens' || entry.scope === '' || entry.scope.startsWith('kittens::ducks');
}
