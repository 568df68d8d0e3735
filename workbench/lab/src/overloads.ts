/**
 * Which of a name's overloads a call means: by the number of its arguments, and by what they are as far as the
 * cell says it.
 */

import type { IEntry } from './keywords';

/** Arguments of the call that a word begins; null where it begins none. */
export function argumentsAt(text: string, end: number): string[] | null {
  let at = end;
  const rest = text.slice(end);
  const template = /^\s*</.exec(rest);
  if (template) {
    const close = closing(text, end + template[0].length - 1, '<', '>');
    at = close < 0 ? end : close + 1;
  }
  const open = /^\s*\(/.exec(text.slice(at));
  if (!open) {
    return null;
  }
  const from = at + open[0].length;
  const close = closing(text, from - 1, '(', ')');
  return close < 0 ? null : split(text.slice(from, close));
}

function closing(text: string, at: number, open: string, close: string): number {
  let depth = 0;
  for (let i = at; i < text.length && i < at + 4000; i++) {
    if (text[i] === open) {
      depth++;
    } else if (text[i] === close && !(close === '>' && text[i - 1] === '-')) {
      depth--;
      if (depth === 0) {
        return i;
      }
    } else if (close === '>' && /[;{}]/.test(text[i])) {
      return -1;
    }
  }
  return -1;
}

/** A list at its commas, those inside of brackets left alone. */
function split(list: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let i = 0; i < list.length; i++) {
    if ('([{<'.includes(list[i])) {
      depth++;
    } else if (')]}'.includes(list[i]) || (list[i] === '>' && list[i - 1] !== '-')) {
      depth--;
    } else if (list[i] === ',' && depth <= 0) {
      parts.push(list.slice(from, i).trim());
      from = i + 1;
    }
  }
  parts.push(list.slice(from).trim());
  return parts.filter((part, i) => part || i < parts.length - 1);
}

interface IParameters {
  kinds: string[];
  least: number;
  most: number;
}

/** What a signature takes: the library's kind of each parameter, and how many there may be. */
function parametersOf({ name, signature }: IEntry): IParameters | null {
  const at = new RegExp(`\\b${name}\\s*\\(`).exec(signature);
  if (!at) {
    return null;
  }
  const head = signature.slice(0, at.index);
  const open = at.index + at[0].length - 1;
  const close = closing(signature, open, '(', ')');
  const given = split(signature.slice(open + 1, close < 0 ? undefined : close));
  const concepts = new Map(
    [...head.matchAll(/ducks::(\w+)::\w+ (\w+)/g)].map(([, kind, type]) => [type, kind])
  );
  const packed = given.filter(part => part.includes('...')).length;
  return {
    kinds: given.map(part => {
      const type = /^(?:const\s+)?(?:typename\s+)?([\w:]+)/.exec(part)?.[1] ?? '';
      return concepts.get(type) ?? (/^u?int|^float|^double|^bool|_t$/.test(type) ? 'number' : '');
    }),
    least: given.filter(part => !part.includes('=') && !part.includes('...')).length,
    most: packed ? Infinity : given.length
  };
}

/** The library's kind of an argument, '' where the cell does not say. */
export function kindOf(argument: string, text: string, depth = 0): string {
  if (/^\{/.test(argument)) {
    return 'coord';
  }
  if (/^[-+]?[\d.]/.test(argument)) {
    return 'number';
  }
  const name = /(\w+)(?:\[[^\]]*\])*$/.exec(argument.trim())?.[1];
  // The last word before a name is its type; a declaration may have several names.
  const declared =
    name &&
    new RegExp(
      `([\\w:]+(?:\\s*<[^;]*?>|\\([^;()]*\\))?(?:::\\w+)*)\\s*&?\\s+(?:\\w+(?:\\[[^\\]]*\\])*,\\s*)*${name}\\b\\s*[;,=\\[({)]`
    ).exec(text)?.[1];
  if (!declared || depth > 3) {
    return '';
  }
  const vector = /::(?:row|col)_vec$/.test(declared);
  if (vector) {
    const of = /decltype\(\s*(\w+)/.exec(declared)?.[1];
    const tile = of ? kindOf(of, text, depth + 1) : typeKind(declared);
    return tile ? `${tile[0]}v` : 'rv';
  }
  return typeKind(declared);
}

function typeKind(type: string): string {
  const word = /^(?:\w+::)*(\w+)/.exec(type)?.[1] ?? '';
  const kind = /^(rt|st|rv|sv|gl|art|crt|crv|cst|csv)(?:_|$)/.exec(word)?.[1];
  return kind ?? (/^(?:u?int\w*|float|double|half|bf16|bool|size_t|auto)$/.test(word) ? 'number' : '');
}

/**
 * The entries, the ones that fit a call first; in their order where nothing tells them apart.
 *
 * @param given - arguments of the call, null where it is none.
 * @param text - the cell, which declares them.
 */
export function ranked(entries: readonly IEntry[], given: readonly string[] | null, text: string): IEntry[] {
  if (!given || entries.length < 2) {
    return [...entries];
  }
  const kinds = given.map(argument => kindOf(argument, text));
  const score = (entry: IEntry) => {
    const takes = entry.kind === 'function' ? parametersOf(entry) : null;
    if (!takes) {
      return -1000;
    }
    const over = Math.max(0, given.length - takes.most);
    const under = Math.max(0, takes.least - given.length);
    let points = -100 * (over + under);
    kinds.forEach((kind, i) => {
      const wanted = takes.kinds[i] ?? '';
      points += kind && wanted ? (kind === wanted ? 10 : -20) : 0;
    });
    return points;
  };
  return entries
    .map((entry, place) => ({ entry, place, points: score(entry) }))
    .sort((a, b) => b.points - a.points || a.place - b.place)
    .map(({ entry }) => entry);
}
