/**
 * What the buttons and commands do with the current cell: run it with options that its text does not have.
 */

import { InputDialog, showErrorMessage } from '@jupyterlab/apputils';
import type { CodeCell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { OutputArea } from '@jupyterlab/outputarea';
import type { KernelMessage } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';

import { kernelLine } from './kernel';
import { isOurs, isTriton, parseMagicLine, withOptions } from './magic';

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
  // A second loading would only say that it is loaded; neither leaves a trace in the notebook.
  const code = "get_ipython().extension_manager.load_extension('workbench')";
  await kernel.requestExecute({ code, store_history: false }).done;
}

/**
 * Runs a cell with options added to its magic line; the cell's text stays as it is.
 *
 * Lines keep their numbers, so that findings and heat belong to the text that is seen.
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
  await loadWorkbench(panel);
  model.clearExecution();
  cell.outputHidden = false;
  cell.setPrompt('*');
  model.trusted = true;
  try {
    const reply = await OutputArea.execute(code, cell.outputArea, panel.sessionContext, {
      cellId: model.sharedModel.getId()
    });
    model.executionCount = reply?.content.execution_count ?? null;
    return reply;
  } catch (error) {
    // The cell's output shows what the kernel says; a cancelled run shows nothing.
    if (!cell.isDisposed) {
      cell.setPrompt('');
    }
    return undefined;
  }
}

/**
 * The options that verify a cell: its own, or a spec that the user chooses; null where they cancel.
 */
export async function verifyOptions(
  cell: CodeCell,
  specs: readonly string[],
  trans: TranslationBundle
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
  if (parts.some(part => part.text === '--verify')) {
    return [];
  }
  const at = parts.findIndex(part => part.text === '--spec');
  if (at >= 0 && parts[at + 1]) {
    return ['--verify', parts[at + 1].text];
  }
  const name = parts.find(part => part.kind === 'name')?.text ?? '';
  const likely = specs.find(spec => spec.split('/').pop() === name);
  const result = specs.length
    ? await InputDialog.getItem({
        title: trans.__('Verify against'),
        label: trans.__('Kernel of the library whose inputs and reference are used'),
        items: [...specs],
        current: likely ? specs.indexOf(likely) : 0
      })
    : await InputDialog.getText({
        title: trans.__('Verify against'),
        label: trans.__('Name of a kernel of the library'),
        placeholder: 'normalization/rmsnorm'
      });
  return result.button.accept && result.value ? ['--verify', result.value] : null;
}
