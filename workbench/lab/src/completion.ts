/**
 * Completion in HipKittens cells: the magic's options on its line, and below it the names that clangd in the kernel
 * knows.
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

import { describeName } from './documentation';
import { kernelLine } from './kernel';
import { isHipkittens, optionsAt } from './magic';
import { sayOnce } from './problems';

/** A name that can stand at a place, as `workbench.lab.clangd.Candidate`. */
export interface ICandidate {
  name: string;
  /** 'function', 'type', 'variable', 'concept', 'keyword', 'header', 'flag'. */
  kind: string;
  signature: string;
  doc: string;
  /** Header it stands in, '' for the cell's own. */
  header: string;
}

interface IReply {
  /** Letters of the name that are already typed. */
  begun: number;
  candidates: ICandidate[];
}

/** JupyterLab's icons of the completer, by kind. */
const ICONS: Record<string, string> = {
  function: 'function',
  type: 'class',
  concept: 'interface',
  variable: 'instance',
  keyword: 'keyword',
  flag: 'magic'
};

/**
 * Shows sensible completions in HipKittens cells, and all of them in other cells.
 *
 * JupyterLab's own providers take the cell for Python, or offer every word of the cell.
 */
class CellCompleterModel extends CompleterModel {
  constructor(private readonly offered: () => ReadonlyMap<string, ICandidate>) {
    super();
  }

  setCompletionItems(items: CompletionHandler.ICompletionItems): void {
    const ours = isHipkittens(this.original?.text ?? '');
    super.setCompletionItems(ours ? items.filter(item => this.offered().has(item.label)) : items);
  }
}

/** Shows a candidate's declaration and documentation beside the list. */
class DocumentationRenderer extends Completer.Renderer {
  constructor(private readonly candidateOf: (name: string) => ICandidate | undefined) {
    super();
  }

  createDocumentationNode(item: CompletionHandler.ICompletionItem): HTMLElement {
    // The label comes with the typed part marked.
    const candidate = this.candidateOf(item.insertText ?? item.label.replace(/<\/?mark>/g, ''));
    if (!candidate) {
      return super.createDocumentationNode(item);
    }
    const dom = document.createElement('div');
    dom.className = 'jp-hipkittens-Hover jp-hipkittens-Completion';
    dom.append(...describeName(candidate.signature, candidate.doc));
    if (candidate.header) {
      const foot = document.createElement('small');
      foot.textContent = candidate.header;
      dom.append(foot);
    }
    return dom;
  }
}

/** Signature and documentation as the text of a completion. */
function documentation({ signature, doc, header }: ICandidate): string {
  return [signature, doc, header].filter(Boolean).join('\n\n');
}

export class HipkittensCompletions implements ICompletionProvider {
  readonly renderer = new DocumentationRenderer(name => this.offered.get(name));

  readonly identifier = 'hipkittens-workbench';
  readonly rank = 1000;

  async isApplicable(context: ICompletionContext): Promise<boolean> {
    const model = context.editor?.model;
    return model ? isHipkittens(model.sharedModel.getSource()) : false;
  }

  async modelFactory(): Promise<CompleterModel> {
    return new CellCompleterModel(() => this.offered);
  }

  async fetch(
    request: CompletionHandler.IRequest,
    context: ICompletionContext
  ): Promise<CompletionHandler.ICompletionItemsReply> {
    const offset = Text.charIndexToJsIndex(request.offset, request.text);
    const { begun, candidates } = await this.ask(request.text, offset, context);
    this.offered = new Map(candidates.map(candidate => [candidate.name, candidate]));
    return {
      start: Text.jsIndexToCharIndex(offset - begun, request.text),
      end: request.offset,
      items: candidates.map(candidate => ({
        label: candidate.name,
        insertText: candidate.name,
        type: ICONS[candidate.kind] ?? 'text',
        documentation: documentation(candidate)
      }))
    };
  }

  private async ask(text: string, offset: number, context: ICompletionContext): Promise<IReply> {
    const before = text.slice(0, offset).split('\n');
    const last = before[before.length - 1];
    if (before.length === 1) {
      const { begun, options } = optionsAt(last);
      return { begun, candidates: options.map(option => ({ ...option, kind: 'flag', header: '' })) };
    }
    const session = (context.widget as Partial<Pick<NotebookPanel, 'sessionContext'>>).sessionContext;
    const line = session ? kernelLine(session) : null;
    if (line?.isOpen) {
      try {
        return await line.ask<IReply>('complete', { text, line: before.length - 1, column: last.length });
      } catch (error) {
        sayOnce(line, error);
      }
    }
    return { begun: 0, candidates: [] };
  }

  private offered: ReadonlyMap<string, ICandidate> = new Map();
}
