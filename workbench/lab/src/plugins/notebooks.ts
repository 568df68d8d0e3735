/**
 * The plugin that follows notebooks: their cells' results, their runs, their names.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Token } from '@lumino/coreutils';
import { Signal, type ISignal } from '@lumino/signaling';

import { NotebookWatcher } from '../cells';
import { CommandIDs } from '../commands';
import { addCounterSearch } from '../counters';
import type { IServices } from '../editor';
import { RunHistory } from '../history';
import { kernelLine } from '../kernel';
import { addLiveViews } from '../liveview';
import { WorkbenchModel } from '../sidebar';
import { withholdWidgets } from '../untrusted';
import { ID, IWorkbench, TEXTS } from './services';

/** The open notebooks. */
export interface INotebooks {
  model: WorkbenchModel;
  /** Emitted with the old and the new path of a renamed notebook. */
  renamed: ISignal<object, { from: string; to: string }>;
}

export const INotebooks = new Token<INotebooks>(`${ID}:INotebooks`);

export const notebooks: JupyterFrontEndPlugin<INotebooks> = {
  id: `${ID}:notebooks`,
  description: 'Results and runs of the cells in notebooks that are open.',
  autoStart: true,
  provides: INotebooks,
  requires: [INotebookTracker, IWorkbench],
  optional: [IStateDB, ITranslator],
  activate: (
    { commands }: JupyterFrontEnd,
    tracker: INotebookTracker,
    { preferences }: IServices,
    state: IStateDB | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load(TEXTS);
    const history = new RunHistory(state);
    const renamed = new Signal<object, { from: string; to: string }>({});
    const watchers = new WeakMap<NotebookPanel, NotebookWatcher>();
    const watcherOf = (panel: NotebookPanel): NotebookWatcher => {
      let watcher = watchers.get(panel);
      if (!watcher) {
        watcher = new NotebookWatcher(panel);
        watchers.set(panel, watcher);
        watcher.changed.connect((_, record) => {
          if (record?.payload) {
            history.add(panel.context.path, record.payload);
          }
        });
        void history.restore(panel.context.path);
        // Also for a notebook that is not visible.
        kernelLine(panel.sessionContext).ran.connect((_, runs) => history.addAll(panel.context.path, runs));
        let from = panel.context.path;
        panel.context.pathChanged.connect((_, to) => {
          history.move(from, to);
          renamed.emit({ from, to });
          from = to;
        });
      }
      return watcher;
    };
    tracker.widgetAdded.connect((_, panel) => {
      watcherOf(panel);
      addLiveViews(panel);
      addCounterSearch(panel.content.node, trans);
      withholdWidgets(panel);
    });
    const model = new WorkbenchModel(tracker, history, preferences, watcherOf);
    model.changed.connect(() => commands.notifyCommandChanged());
    commands.addCommand(CommandIDs.clearHistory, {
      label: trans.__('Clear HipKittens Run History'),
      isEnabled: () => tracker.currentWidget !== null,
      execute: () => history.clear(tracker.currentWidget?.context.path ?? '')
    });
    return { model, renamed };
  }
};
