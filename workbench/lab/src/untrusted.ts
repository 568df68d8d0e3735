/**
 * Widgets of a notebook that somebody else saved.
 *
 * Jupyter's widget manager makes the models that a notebook's metadata keeps, trusted or not, and anywidget runs the
 * script of each as it is made: opening the file is enough. The workbench brings anywidget, so it keeps the state of a
 * notebook that is not trusted from the manager. In the file it stays as it is.
 */

import type { INotebookModel, NotebookPanel } from '@jupyterlab/notebook';

/** Where the manager looks for what a notebook keeps of its widgets. */
const KEY = 'widgets';

/**
 * Whether all code cells are trusted: they were run here, or whoever ran them signed the notebook. Nobody has signed
 * one that has none.
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
