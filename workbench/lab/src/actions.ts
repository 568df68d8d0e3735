/**
 * Actions of buttons and commands on the current cell: they run it with options that its text does not have.
 */

import { InputDialog, showErrorMessage } from '@jupyterlab/apputils';
import type { CodeCell, ICodeCellModel } from '@jupyterlab/cells';
import { PathExt } from '@jupyterlab/coreutils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { OutputArea } from '@jupyterlab/outputarea';
import type { KernelMessage } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';

import { kernelLine } from './kernel';
import { isOurs, isTriton, moduleName, parseMagicLine, withOptions } from './magic';
import {
  askReference,
  keepReference,
  optionsOf,
  referenceOf,
  type IOwnReference,
  type Reference
} from './reference';
import type { ILikely } from './referenceform';
import { TEMPLATES, type ITemplate } from './templates';

/**
 * The current cell of a notebook if it is one of ours.
 */
export function currentCell(panel: NotebookPanel | null): CodeCell | null {
  const cell = panel?.content.activeCell;
  return cell && cell.model.type === 'code' && isOurs(cell.model.sharedModel.getSource())
    ? (cell as CodeCell)
    : null;
}

/**
 * Loads the workbench into a kernel that does not have it, such as one that was restarted.
 */
export async function loadWorkbench(panel: NotebookPanel): Promise<void> {
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel || kernelLine(panel.sessionContext).isOpen) {
    return;
  }
  // A second load would only say that it is loaded; neither appears in the notebook.
  const code = "get_ipython().extension_manager.load_extension('workbench')";
  await kernel.requestExecute({ code, store_history: false }).done;
}

/**
 * Has the kernel write a saved notebook as one page beside it: returns the page's name, or the reason why there is
 * none.
 */
export async function savePage(panel: NotebookPanel): Promise<{ page: string; error: string }> {
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) {
    return { page: '', error: 'The notebook has no kernel. Choose one in the Kernel menu.' };
  }
  const name = JSON.stringify(PathExt.basename(panel.context.path));
  const page = `str(__import__('workbench').save_page(${name}))`;
  const request = { code: '', store_history: false, user_expressions: { page } };
  const reply = (await kernel.requestExecute(request).done).content;
  const result = reply.status === 'ok' ? (reply.user_expressions.page as unknown as ISaid) : null;
  return result?.status === 'ok'
    ? { page: result.data['text/plain'].replace(/^'|'$/g, ''), error: '' }
    : { page: '', error: result?.evalue ?? 'The kernel did not write the page.' };
}

/** The kernel's answer to one expression. */
interface ISaid {
  status: string;
  data: Record<string, string>;
  evalue?: string;
}

/**
 * Runs a cell with options added to its magic line; the cell's text stays as it is.
 *
 * Lines keep their numbers, so that findings and heat belong to the visible text.
 */
export async function runWithOptions(
  panel: NotebookPanel,
  cell: CodeCell,
  options: readonly string[]
): Promise<KernelMessage.IExecuteReplyMsg | undefined> {
  const model = cell.model;
  const code = withOptions(model.sharedModel.getSource(), options);
  if (!panel.sessionContext.session?.kernel) {
    await showErrorMessage('HipKittens', 'The notebook has no kernel. Choose one in the Kernel menu.');
    return undefined;
  }
  // At once: a kernel that has yet to load the workbench takes seconds.
  model.clearExecution();
  cell.outputHidden = false;
  cell.setPrompt('*');
  model.executionState = 'running';
  model.trusted = true;
  await loadWorkbench(panel);
  try {
    const reply = await OutputArea.execute(code, cell.outputArea, panel.sessionContext, {
      cellId: model.sharedModel.getId()
    });
    model.executionCount = reply?.content.execution_count ?? null;
    return reply;
  } catch (error) {
    // The cell's output shows the kernel's answer; a cancelled run shows nothing.
    if (!cell.isDisposed) {
      cell.setPrompt('');
    }
    return undefined;
  } finally {
    if (!cell.isDisposed) {
      model.executionState = 'idle';
    }
  }
}

/**
 * The options that verify a cell: its line's own, those of the reference that its metadata keeps, or of one that
 * the user says now; null where they cancel.
 *
 * @param again - ask also where a reference is kept, which the form then begins with.
 */
export async function verifyOptions(
  panel: NotebookPanel,
  cell: CodeCell,
  specs: readonly string[],
  trans: TranslationBundle,
  again = false
): Promise<string[] | null> {
  const line = cell.model.sharedModel.getSource().split('\n', 1)[0];
  if (isTriton(line)) {
    await showErrorMessage(
      'HipKittens',
      trans.__(
        'A Triton cell has no kernel of the library to verify against. Compare in Python: %1',
        'wb.verify(kernel[grid], reference=..., inputs=...)'
      )
    );
    return null;
  }
  const parts = parseMagicLine(line);
  if (parts.some(part => part.text === '--verify' || part.text === '--reference')) {
    return [];
  }
  const at = parts.findIndex(part => part.text === '--spec');
  if (at >= 0 && parts[at + 1]) {
    return ['--verify', parts[at + 1].text];
  }
  const name = moduleName(line);
  const kept = referenceOf(cell.model) ?? referenceOfModule(panel, name);
  if (kept && !again && !refused.has(cell.model)) {
    keepReference(cell.model, kept);
    return optionsOf(kept);
  }
  const { used = [], fitting = [], ...form } = await formOf(panel, name);
  const known = kept
    ? { own: 'spec' in kept ? form : kept, spec: 'spec' in kept ? kept.spec : '' }
    : { own: form, spec: used[0] ?? specs.find(spec => spec.split('/').pop() === name) ?? '' };
  const chosen = await askReference(specs, { used, fitting }, known.spec, known.own, trans);
  if (chosen) {
    refused.delete(cell.model);
    keepReference(cell.model, chosen);
  }
  return chosen && optionsOf(chosen);
}

/** The reference of another cell of the notebook that writes the same module, the last of them. */
function referenceOfModule(panel: NotebookPanel, name: string): Reference | null {
  const alike = panel.content.widgets.filter(({ model }) => {
    const source = model.sharedModel.getSource();
    return model.type === 'code' && isOurs(source) && moduleName(source.split('\n', 1)[0]) === name;
  });
  return alike.reduce<Reference | null>(
    (kept, { model }) => referenceOf(model as ICodeCellModel) ?? kept,
    null
  );
}

/** Cells whose reference failed when it was last used: the user is asked for it again. */
const refused = new WeakSet<object>();

/**
 * Remembers whether the kernel took a cell's reference.
 */
export function noteReply(cell: CodeCell, reply: KernelMessage.IExecuteReplyMsg | undefined): void {
  const content = reply?.content;
  if (content?.status === 'error' && /^%%hipkittens: (--|verify)|reference/.test(content.evalue)) {
    refused.add(cell.model);
  }
}

/** Initial values of the form, from the kernel: the module's last launch, and likely references. */
async function formOf(panel: NotebookPanel, module: string): Promise<Partial<IOwnReference & ILikely>> {
  const line = kernelLine(panel.sessionContext);
  try {
    return line.isOpen ? await line.ask<Partial<IOwnReference & ILikely>>('reference_form', { module }) : {};
  } catch {
    return {};
  }
}

/**
 * The template with a name; if there is none, the one that the user chooses, or null on cancel.
 */
export async function chooseTemplate(name: string, trans: TranslationBundle): Promise<ITemplate | null> {
  const known = TEMPLATES.find(template => template.name === name);
  if (known) {
    return known;
  }
  const line = ({ title, about }: ITemplate) => `${title}: ${about}`;
  const chosen = await InputDialog.getItem({
    title: trans.__('New kernel from a template'),
    items: TEMPLATES.map(line)
  });
  return TEMPLATES.find(template => line(template) === chosen.value) ?? null;
}
