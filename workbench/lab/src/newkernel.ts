/**
 * New kernels from templates: as a notebook, and as cells of an existing one.
 */

import type { Notebook } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import { UUID, type PartialJSONObject } from '@lumino/coreutils';

import { isHipkittens } from './magic';
import { SETUP, type ITemplate, type ITemplateCell } from './templates';

/**
 * A template's cells for a notebook with these texts: the cell that loads the workbench only if it is not among them.
 */
export function cellsFor(template: ITemplate, texts: readonly string[]): ITemplateCell[] {
  const lines = new Set(texts.flatMap(text => text.split('\n')));
  const ready = SETUP.split('\n').every(line => !line || lines.has(line));
  const [head, ...others] = template.cells;
  return [head, ...(ready ? [] : [{ cell_type: 'code' as const, metadata: {}, source: SETUP }]), ...others];
}

/**
 * The content of a new notebook with a template's cells.
 *
 * @param kernel - name of the kernel that it starts with.
 */
export function notebookOf(template: ITemplate, kernel: string): PartialJSONObject {
  return {
    cells: cellsFor(template, []).map(cell => ({
      id: UUID.uuid4(),
      ...cell,
      ...(cell.cell_type === 'code' ? { outputs: [], execution_count: null } : {})
    })),
    metadata: { kernelspec: { name: kernel, display_name: kernel, language: 'python' } },
    nbformat: 4,
    nbformat_minor: 5
  };
}

/**
 * Writes a new notebook from a template; returns its path.
 *
 * @param folder - where it is put.
 */
export async function createNotebook(
  contents: Pick<Contents.IManager, 'newUntitled' | 'save'>,
  template: ITemplate,
  kernel: string,
  folder: string
): Promise<string> {
  const { path } = await contents.newUntitled({ path: folder, type: 'notebook' });
  await contents.save(path, { type: 'notebook', format: 'json', content: notebookOf(template, kernel) });
  return path;
}

/**
 * Inserts a template's cells below the current one.
 */
export function insertTemplate(notebook: Notebook, template: ITemplate): void {
  const cells = notebook.model?.sharedModel;
  if (cells) {
    const at = notebook.activeCellIndex + 1;
    cells.insertCells(
      at,
      cellsFor(
        template,
        cells.cells.map(cell => cell.getSource())
      )
    );
    selectKernel(notebook, at);
    void notebook.scrollToItem(at, 'start');
  }
}

/**
 * Makes the first kernel's cell after insertion the current one: the sidebar's buttons apply to it.
 */
export function selectKernel(notebook: Notebook, from = 0): void {
  const kernel = notebook.widgets.findIndex(
    ({ model }, at) => at >= from && isHipkittens(model.sharedModel.getSource())
  );
  if (kernel >= 0) {
    notebook.deselectAll();
    notebook.activeCellIndex = kernel;
  }
}
