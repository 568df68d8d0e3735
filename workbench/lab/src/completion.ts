/**
 * Completion in HipKittens cells: the magic's options on its line, names of HIP and the tile library below.
 */

import {
  CompleterModel,
  type CompletionHandler,
  type ICompletionContext,
  type ICompletionProvider
} from '@jupyterlab/completer';
import { Text } from '@jupyterlab/coreutils';

import { candidates, documentation } from './candidates';
import { isHipkittens } from './magic';
import type { Names } from './names';

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
  constructor(private readonly names: Names) {
    super();
  }

  setCompletionItems(items: CompletionHandler.ICompletionItems): void {
    const text = this.original?.text ?? '';
    if (!isHipkittens(text)) {
      super.setCompletionItems(items);
      return;
    }
    const allowed = new Set(
      candidates(this.names, text, this.cursor?.end ?? 0).entries.map(entry => entry.name)
    );
    super.setCompletionItems(items.filter(item => allowed.has(item.label)));
  }
}

export class HipkittensCompletions implements ICompletionProvider {
  constructor(private readonly names: Names) {}

  readonly identifier = 'hipkittens-workbench';
  readonly rank = 1000;

  async isApplicable(context: ICompletionContext): Promise<boolean> {
    const model = context.editor?.model;
    return model ? isHipkittens(model.sharedModel.getSource()) : false;
  }

  async modelFactory(): Promise<CompleterModel> {
    return new CellCompleterModel(this.names);
  }

  async fetch(request: CompletionHandler.IRequest): Promise<CompletionHandler.ICompletionItemsReply> {
    const offset = Text.charIndexToJsIndex(request.offset, request.text);
    const { start, entries } = candidates(this.names, request.text, offset);
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
}
