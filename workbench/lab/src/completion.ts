/**
 * Completion in HipKittens cells: the magic's options on its line; below it what clangd knows of the place, where
 * the kernel has one, then names of HIP and the tile library.
 */

import {
  Completer,
  CompleterModel,
  type CompletionHandler,
  type ICompletionContext,
  type ICompletionProvider
} from '@jupyterlab/completer';
import { Text } from '@jupyterlab/coreutils';
import type { NotebookPanel } from '@jupyterlab/notebook';

import { candidates, documentation, merged } from './candidates';
import { describeName } from './documentation';
import { kernelLine } from './kernel';
import type { IEntry } from './keywords';
import { isHipkittens } from './magic';
import type { Names } from './names';

/** Milliseconds that a person waits; a kernel that runs a cell does not answer. */
const PATIENCE = 800;

/** Kinds as JupyterLab's completer has icons for them. */
const ICONS: Record<string, string> = {
  function: 'function',
  type: 'class',
  concept: 'interface',
  variable: 'instance',
  macro: 'keyword',
  keyword: 'keyword',
  flag: 'magic'
};

/**
 * Shows in HipKittens cells what stands to reason there, and in other cells all that there is.
 *
 * JupyterLab's own providers take the cell for Python, or offer every word of the cell.
 */
class CellCompleterModel extends CompleterModel {
  constructor(
    private readonly names: Names,
    private readonly known: () => readonly IEntry[]
  ) {
    super();
  }

  setCompletionItems(items: CompletionHandler.ICompletionItems): void {
    const text = this.original?.text ?? '';
    if (!isHipkittens(text)) {
      super.setCompletionItems(items);
      return;
    }
    const entries = merged(candidates(this.names, text, this.cursor?.end ?? 0).entries, this.known());
    const allowed = new Set(entries.map(entry => entry.name));
    super.setCompletionItems(items.filter(item => allowed.has(item.label)));
  }
}

/** Shows a candidate's declaration and documentation beside the list. */
class DocumentationRenderer extends Completer.Renderer {
  constructor(private readonly entryOf: (name: string) => IEntry | undefined) {
    super();
  }

  createDocumentationNode(item: CompletionHandler.ICompletionItem): HTMLElement {
    // The label comes with what was typed marked.
    const entry = this.entryOf(item.insertText ?? item.label.replace(/<\/?mark>/g, ''));
    if (!entry) {
      return super.createDocumentationNode(item);
    }
    const dom = document.createElement('div');
    dom.className = 'jp-hipkittens-Hover jp-hipkittens-Completion';
    dom.append(...describeName(entry.signature, entry.doc));
    if (entry.header) {
      const foot = document.createElement('small');
      foot.textContent = entry.header;
      dom.append(foot);
    }
    return dom;
  }
}

export class HipkittensCompletions implements ICompletionProvider {
  constructor(private readonly names: Names) {}

  readonly renderer = new DocumentationRenderer(name => this.offered.get(name));

  readonly identifier = 'hipkittens-workbench';
  readonly rank = 1000;

  async isApplicable(context: ICompletionContext): Promise<boolean> {
    const model = context.editor?.model;
    return model ? isHipkittens(model.sharedModel.getSource()) : false;
  }

  async modelFactory(): Promise<CompleterModel> {
    return new CellCompleterModel(this.names, () => this.known);
  }

  async fetch(
    request: CompletionHandler.IRequest,
    context: ICompletionContext
  ): Promise<CompletionHandler.ICompletionItemsReply> {
    const offset = Text.charIndexToJsIndex(request.offset, request.text);
    const { start, entries: named } = candidates(this.names, request.text, offset);
    const begun = request.text.slice(start, offset);
    this.known = (await this.ask(request.text, offset, context)).filter(entry =>
      entry.name.startsWith(begun)
    );
    const entries = merged(named, this.known);
    this.offered = new Map(entries.map(entry => [entry.name, entry]));
    return {
      start: Text.jsIndexToCharIndex(start, request.text),
      end: request.offset,
      items: entries.map(entry => ({
        label: entry.name,
        insertText: entry.name,
        type: ICONS[entry.kind] ?? 'text',
        documentation: documentation(entry)
      }))
    };
  }

  /** What clangd says in the kernel; nothing where there is none, or where the kernel is busy. */
  private async ask(text: string, offset: number, context: ICompletionContext): Promise<IEntry[]> {
    const session = (context.widget as Partial<Pick<NotebookPanel, 'sessionContext'>>).sessionContext;
    const line = session ? kernelLine(session) : null;
    const before = text.slice(0, offset).split('\n');
    if (!line?.isOpen || before.length === 1) {
      return [];
    }
    const params = { text, line: before.length - 1, column: before[before.length - 1].length };
    const late = new Promise<{ candidates: IEntry[] }>(resolve =>
      setTimeout(() => resolve({ candidates: [] }), PATIENCE)
    );
    try {
      return (await Promise.race([line.ask<{ candidates: IEntry[] }>('complete', params), late])).candidates;
    } catch {
      // An older kernel, or one that ends: the index serves.
      return [];
    }
  }

  private known: readonly IEntry[] = [];
  private offered = new Map<string, IEntry>();
}
