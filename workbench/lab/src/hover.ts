/**
 * Hover over a word of a HipKittens cell: its signature and documentation, from the index of names, or what clangd
 * in the kernel knows of a name of the cell's own.
 */

import { syntaxTree } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { hoverTooltip, tooltips, type EditorView, type Tooltip } from '@codemirror/view';

import { describeName } from './documentation';
import type { IEntry } from './keywords';
import type { Names } from './names';
import { argumentsAt, ranked } from './overloads';

const SHOWN_OVERLOADS = 4;

/** Milliseconds that a person who points at a word waits for clangd. */
const PATIENCE = 500;

/**
 * The word at a place, with its range; options of the magic line are words with their dashes.
 */
export function wordAt(
  line: string,
  column: number,
  magic: boolean
): { from: number; to: number; word: string } | null {
  const pattern = magic ? /-{1,2}[A-Za-z][\w-]*/g : /[A-Za-z_]\w*/g;
  for (const match of line.matchAll(pattern)) {
    const from = match.index ?? 0;
    const to = from + match[0].length;
    if (from <= column && column <= to) {
      return { from, to, word: match[0] };
    }
  }
  return null;
}

/**
 * The tooltip's content.
 */
export function describe(entries: readonly IEntry[]): HTMLElement {
  const dom = document.createElement('div');
  dom.className = 'jp-hipkittens-Hover';
  for (const entry of entries.slice(0, SHOWN_OVERLOADS)) {
    dom.append(...describeName(entry.signature, entry.doc));
  }
  const more = entries.length - SHOWN_OVERLOADS;
  return withFoot(dom, entries[0].header, more > 0 ? `${more} more of this name` : '');
}

function withFoot(dom: HTMLElement, ...told: string[]): HTMLElement {
  const foot = document.createElement('small');
  foot.textContent = told.filter(Boolean).join(' · ');
  if (foot.textContent) {
    dom.append(foot);
  }
  return dom;
}

/** What clangd says of a name, as `workbench.lab.clangd.Hover`; an older kernel tells the text alone. */
export interface IKnown {
  text: string;
  title?: string;
  signature?: string;
  facts?: string[];
  doc?: string;
  header?: string;
}

/**
 * What clangd says of a name, as the tooltip's content.
 */
export function describeKnown(known: IKnown): HTMLElement {
  const dom = document.createElement('div');
  dom.className = 'jp-hipkittens-Hover';
  dom.append(...describeName(known.signature ?? known.text, known.doc ?? '', known.facts));
  return withFoot(dom, known.title ?? '', known.header ?? '');
}

/** Whether what clangd tells is a name of the library, of which the index has the signatures and documentation. */
export function isIndexed(known: IKnown, entries: readonly IEntry[]): boolean {
  return entries.some(entry => entry.header !== '' && known.text.includes(entry.header));
}

/** Asks the kernel of a name at a place, counted from 0; null where nothing is known. */
export type Ask = (text: string, line: number, column: number) => Promise<IKnown | null>;

export function hoverExtension(names: Names, ask: Ask | null = null): Extension {
  return [tooltips({ tooltipSpace: spaceOf }), hoverWith(names, ask)];
}

/** A tooltip stays on its notebook: over the sidebar it would cover the button that one goes to. */
function spaceOf(view: EditorView): { left: number; top: number; right: number; bottom: number } {
  const page = { left: 0, top: 0, right: window.innerWidth, bottom: window.innerHeight };
  const notebook = view.dom.closest('.jp-Notebook')?.getBoundingClientRect();
  return notebook ? { ...page, left: notebook.left, right: notebook.right } : page;
}

function hoverWith(names: Names, ask: Ask | null): Extension {
  return hoverTooltip((view: EditorView, position: number): Tooltip | Promise<Tooltip | null> | null => {
    const line = view.state.doc.lineAt(position);
    const magic = line.number === 1;
    const found = wordAt(line.text, position - line.from, magic);
    if (!found) {
      return null;
    }
    const inside = syntaxTree(view.state).resolveInner(line.from + found.from, 1).name;
    if (!magic && /Comment|String|CharLiteral/.test(inside)) {
      return null;
    }
    const flag = magic ? names.flag(found.word) : null;
    const text = view.state.doc.toString();
    const call = magic ? null : argumentsAt(text, line.from + found.to);
    const entries = magic ? (flag ? [flag] : []) : ranked(names.lookup(found.word), call, text);
    const tooltip = (dom: HTMLElement): Tooltip => ({
      pos: line.from + found.from,
      end: line.from + found.to,
      above: true,
      create: () => ({ dom })
    });
    const indexed = () => (entries.length ? tooltip(describe(entries)) : null);
    if (magic || !ask) {
      return indexed();
    }
    // clangd knows which of the names it is; a kernel that runs a cell does not answer in time.
    const late = new Promise<null>(resolve => setTimeout(() => resolve(null), PATIENCE));
    const answer = ask(text, line.number - 1, found.from);
    return Promise.race([answer, late]).then(known =>
      known?.text && !isIndexed(known, entries) ? tooltip(describeKnown(known)) : indexed()
    );
  });
}
