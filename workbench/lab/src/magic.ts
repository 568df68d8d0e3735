/**
 * The first line of our cells: how it is recognised, and its parts.
 */

import { OPTIONS, type IOption } from './options';

const FIRST_LINE = /^%%hipkittens(?=[ \t\r\n]|$)/;
const TRITON_LINE = /^%%triton(?=[ \t\r\n]|$)/;

/**
 * Whether a cell with this text is a HipKittens cell.
 */
export function isHipkittens(text: string): boolean {
  return FIRST_LINE.test(text);
}

/**
 * Whether a cell with this text is Python whose Triton kernels the workbench shows.
 */
export function isTriton(text: string): boolean {
  return TRITON_LINE.test(text);
}

/**
 * Whether a cell with this text has findings, heat and machine code to show.
 */
export function isOurs(text: string): boolean {
  return isHipkittens(text) || isTriton(text);
}

const TRITON_KERNEL = /^[ \t]*@triton\.(jit|autotune|heuristics)\b/m;

/**
 * Whether a cell with this text may have results at its lines: ours, or plain Python with a Triton kernel.
 */
export function hasKernels(text: string): boolean {
  return isOurs(text) || (!text.startsWith('%%') && TRITON_KERNEL.test(text));
}

export type PartKind = 'magic' | 'name' | 'flag' | 'value' | 'string';

export interface IPart {
  kind: PartKind;
  from: number;
  to: number;
  text: string;
}

/**
 * The words of a magic line with their places; a word after an option is that option's value.
 */
export function parseMagicLine(line: string): IPart[] {
  const parts: IPart[] = [];
  let afterFlag = false;
  let named = false;
  for (const match of line.matchAll(/"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s"']+/g)) {
    const text = match[0];
    const from = match.index ?? 0;
    let kind: PartKind;
    if (from === 0 && isOurs(text)) {
      kind = 'magic';
    } else if (text.startsWith('-')) {
      kind = 'flag';
    } else if (/^["']/.test(text)) {
      kind = 'string';
    } else if (!afterFlag && !named) {
      kind = 'name';
      named = true;
    } else {
      kind = 'value';
    }
    afterFlag = kind === 'flag' && !SWITCHES.has(text) && !/^-[ID]./.test(text) && !text.includes('=');
    parts.push({ kind, from, to: from + text.length, text });
  }
  return parts;
}

/** Options that take no value. */
const SWITCHES = new Set([
  ...OPTIONS.filter(option => !option.takesValue).map(option => option.name),
  '--help',
  '-h'
]);

/**
 * Options that begin like the word at a line's end, of which `begun` letters are typed; none if it is no option.
 */
export function optionsAt(before: string): { begun: number; options: IOption[] } {
  const word = /(?:^|\s)(-[\w-]*)$/.exec(before)?.[1] ?? '';
  return { begun: word.length, options: OPTIONS.filter(({ name }) => word && name.startsWith(word)) };
}

/**
 * The name that a cell binds its module to, '' if the line has none.
 */
export function moduleName(line: string): string {
  return parseMagicLine(line).find(part => part.kind === 'name')?.text ?? '';
}

/**
 * The cell's text with options added to its magic line, each once; lines keep their numbers.
 */
export function withOptions(text: string, options: readonly string[]): string {
  const end = text.indexOf('\n');
  const line = (end < 0 ? text : text.slice(0, end)).replace(/\s+$/, '');
  const present = new Set(parseMagicLine(line).map(part => part.text));
  const missing: string[] = [];
  for (let i = 0; i < options.length; i++) {
    const value = i + 1 < options.length && !options[i + 1].startsWith('-') ? options[++i] : null;
    const option = value === null ? options[i] : options[i - 1];
    if (!present.has(option)) {
      missing.push(option, ...(value === null ? [] : [value]));
    }
  }
  return [line, ...missing].join(' ') + (end < 0 ? '' : text.slice(end));
}
