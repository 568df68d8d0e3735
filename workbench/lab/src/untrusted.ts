/**
 * Widgets of a notebook that someone else saved.
 *
 * Jupyter's widget manager creates the models in a notebook's metadata, trusted or not, and anywidget runs the script
 * of each when it is created: opening the file is enough. Since the workbench brings anywidget, it hides the state of
 * an untrusted notebook from the manager. The file keeps it.
 */

import type { INotebookModel, NotebookPanel } from '@jupyterlab/notebook';

/** Key under which the manager looks for a notebook's widgets. */
const KEY = 'widgets';

/**
 * Whether all code cells are trusted: they were run here, or a trusted person signed the notebook. A notebook without
 * cells has not been signed.
 */
export function isTrusted(notebook: Pick<INotebookModel, 'cells'>): boolean {
  const cells = [...notebook.cells].filter(cell => cell.type === 'code');
  return cells.length > 0 && cells.every(cell => cell.trusted);
}

/**
 * Keeps saved widgets from running until a notebook is trusted.
 */
export function withholdWidgets(panel: NotebookPanel): void {
  // The manager asks once it knows the kernel, which is later.
  void panel.context.ready.then(() => {
    const notebook = panel.context.model;
    const all = notebook.getMetadata.bind(notebook);
    notebook.getMetadata = (key: string) => (key === KEY && !isTrusted(notebook) ? undefined : all(key));
  });
}
