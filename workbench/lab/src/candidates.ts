/**
 * What can be completed at a place of a HipKittens cell.
 */

import type { IEntry } from './keywords';
import { membersAt } from './members';
import type { Names } from './names';

/**
 * What can stand at a place of a cell, and where the part that is already there begins.
 */
export function candidates(names: Names, text: string, offset: number): { start: number; entries: IEntry[] } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  if (lineStart === 0) {
    const option = /(?:^|\s)(-[\w-]*)$/.exec(before);
    return option
      ? { start: offset - option[1].length, entries: names.flags(option[1]) }
      : { start: offset, entries: [] };
  }
  const include = /^\s*#\s*include\s*["<]([\w./-]*)$/.exec(before.slice(lineStart));
  if (include) {
    const headers = names.headers().filter(header => header.startsWith(include[1]));
    return {
      start: offset - include[1].length,
      entries: headers.map(name => ({
        name,
        kind: 'header',
        signature: `#include "${name}"`,
        doc: '',
        header: ''
      }))
    };
  }
  const word = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? '';
  const start = offset - word.length;
  const members = membersAt(names, text, start);
  if (members) {
    return { start, entries: members.filter(entry => entry.name.startsWith(word)) };
  }
  const qualified = /(?:kittens|ducks|base_types|base_ops)\s*::\s*$/.test(before.slice(lineStart, start));
  if (!word && !qualified) {
    return { start, entries: [] };
  }
  const entries = names.startingWith(word);
  const known = new Set(entries.map(entry => entry.name));
  for (const own of word ? wordsOf(text, offset) : []) {
    if (own.startsWith(word) && !known.has(own)) {
      known.add(own);
      entries.push({ name: own, kind: 'text', signature: own, doc: '', header: '' });
    }
  }
  return { start, entries };
}

/** Words of the cell's C++, without the one that ends at the cursor. */
function wordsOf(text: string, offset: number): string[] {
  const body = text.indexOf('\n') + 1;
  const words: string[] = [];
  for (const match of text.slice(body).matchAll(/[A-Za-z_]\w{2,}/g)) {
    const from = body + (match.index ?? 0);
    if (offset < from || offset > from + match[0].length) {
      words.push(match[0]);
    }
  }
  return words.sort();
}

/**
 * Signature and documentation as the text of a completion.
 */
export function documentation(entry: IEntry): string {
  const where = entry.header ? `\n\n${entry.header}` : '';
  return `${entry.signature}${entry.doc ? `\n\n${entry.doc}` : ''}${where}`;
}

/** clangd's candidates first: it knows the place. */
export function merged(named: readonly IEntry[], known: readonly IEntry[]): IEntry[] {
  const names = new Set(known.map(entry => entry.name));
  return [...known, ...named.filter(entry => !names.has(entry.name))];
}
