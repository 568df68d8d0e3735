/**
 * Hover over a word of a HipKittens cell: an option on its magic's line, or a name that clangd in the kernel knows.
 */

import { syntaxTree } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { hoverTooltip, type EditorView, type Tooltip } from '@codemirror/view';

import { keepToEditor } from './diagnostics';
import { describeName } from './documentation';
import { OPTIONS } from './options';

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

/** The kernel's answer about a name, as `workbench.lab.clangd.Hover`. */
export interface IHover {
  /** '' if it knows nothing. */
  text: string;
  title: string;
  signature: string;
  facts: string[];
  doc: string;
  header: string;
}

/**
 * The tooltip's content.
 */
export function describeHover({ signature, doc, facts, title, header }: Omit<IHover, 'text'>): HTMLElement {
  const dom = document.createElement('div');
  dom.className = 'jp-hipkittens-Hover';
  dom.append(...describeName(signature, doc, facts));
  const foot = document.createElement('small');
  foot.textContent = [title, header].filter(Boolean).join(' · ');
  if (foot.textContent) {
    dom.append(foot);
  }
  return dom;
}

/** Asks the kernel about a name at a place, counted from 0; null if nothing is known. */
export type Ask = (text: string, line: number, column: number) => Promise<IHover | null>;

export function hoverExtension(ask: Ask | null): Extension {
  return hoverTooltip((view, position) => tooltipAt(view, position, ask));
}

async function tooltipAt(view: EditorView, position: number, ask: Ask | null): Promise<Tooltip | null> {
  const line = view.state.doc.lineAt(position);
  const magic = line.number === 1;
  const word = wordAt(line.text, position - line.from, magic);
  if (!word) {
    return null;
  }
  const tooltip = (dom: HTMLElement): Tooltip => {
    keepToEditor(dom, view);
    return { pos: line.from + word.from, end: line.from + word.to, above: true, create: () => ({ dom }) };
  };
  if (magic) {
    const option = OPTIONS.find(({ name }) => name === word.word);
    return option ? tooltip(describeHover({ ...option, title: '', facts: [], header: '' })) : null;
  }
  const inside = syntaxTree(view.state).resolveInner(line.from + word.from, 1).name;
  if (!ask || /Comment|String|CharLiteral/.test(inside)) {
    return null;
  }
  const known = await ask(view.state.doc.toString(), line.number - 1, word.from);
  return known?.text ? tooltip(describeHover(known)) : null;
}
