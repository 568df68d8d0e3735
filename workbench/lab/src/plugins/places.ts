/**
 * The plugin that places the views of notebooks: beside the notebook, or below it where there is no room beside.
 */

import { ILabShell, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Token } from '@lumino/coreutils';
import { TabPanel, Widget } from '@lumino/widgets';

import { INotebooks } from './notebooks';
import { ID, TEXTS } from './services';

/** A view of a notebook, which follows it through renames. */
export interface INotebookView extends Widget {
  readonly path: string;
  attachNotebook(panel: NotebookPanel): void;
  renamed(path: string): void;
}

function isNotebookView(widget: Widget): widget is INotebookView {
  return 'attachNotebook' in widget;
}

/** Where views stand. */
export interface IPlaces {
  /** Adds a view of the notebook at a path, and shows it. */
  add(widget: MainAreaWidget, path: string): void;
  show(widget: Widget): void;
  /** Makes a tracker's views follow their notebooks: those that open later, and those that are renamed. */
  follow<V extends INotebookView>(views: WidgetTracker<MainAreaWidget<V>>): void;
}

export const IPlaces = new Token<IPlaces>(`${ID}:IPlaces`);

/** Pixels of width below which a notebook, or a view of it, cannot be read. */
const LEAST = 420;

/**
 * Whether a notebook of this width is too narrow for a view beside it; one that is not on the page has no width yet.
 */
export function hasNoRoom(width: number): boolean {
  return width > 0 && width < 2 * LEAST;
}

export const places: JupyterFrontEndPlugin<IPlaces> = {
  id: `${ID}:places`,
  description: 'Places for the views of the HipKittens workbench.',
  autoStart: true,
  provides: IPlaces,
  requires: [INotebookTracker, INotebooks],
  optional: [ILabShell, ITranslator],
  activate: (
    { shell }: JupyterFrontEnd,
    tracker: INotebookTracker,
    { renamed }: INotebooks,
    labShell: ILabShell | null,
    translator: ITranslator | null
  ): IPlaces => {
    const trans = (translator ?? nullTranslator).load(TEXTS);
    // Notebook 7 has one widget in its main area; a panel below it is where other views go.
    const area = labShell ? 'main' : 'down';
    const open = new Set<MainAreaWidget>();
    const notebookAt = (path: string) => tracker.find(panel => panel.context.path === path);
    const show = (widget: Widget) => {
      shell.activateById(widget.id);
      // Notebook 7 has tabs below the notebook, and does not change to the one that is activated.
      const tabs = widget.parent?.parent;
      if (tabs instanceof TabPanel) {
        tabs.currentWidget = widget;
      }
    };
    const attach = (view: INotebookView) => {
      const panel = notebookAt(view.path);
      if (panel) {
        view.attachNotebook(panel);
      }
    };
    const tellBelow = (lab: ILabShell, widget: MainAreaWidget, ref?: string) => {
      const line = new Widget();
      line.addClass('jp-hipkittens-Below');
      line.node.setAttribute('role', 'status');
      line.node.append(trans.__('No room beside the notebook.'), ' ');
      const button = document.createElement('button');
      button.className = 'jp-hipkittens-Link';
      button.textContent = trans.__('Close sidebars, put it there');
      button.addEventListener('click', () => {
        line.dispose();
        lab.collapseLeft();
        lab.collapseRight();
        lab.add(widget, 'main', { mode: 'split-right', ref });
        show(widget);
      });
      line.node.append(button);
      widget.contentHeader.addWidget(line);
    };
    return {
      show,
      // Beside the notebook, or below where both would be narrow, and as tabs in one place: a third column would leave too little room for each.
      add: (widget, path) => {
        widget.content.toggleClass('jp-hipkittens-Down', area === 'down');
        const beside = [...open].find(other => other.isAttached);
        open.add(widget);
        widget.disposed.connect(() => open.delete(widget));
        const notebook = notebookAt(path);
        const narrow = !beside && hasNoRoom(notebook?.node.clientWidth ?? 0);
        const place = beside
          ? { mode: 'tab-after' as const, ref: beside.id }
          : { mode: narrow ? ('split-bottom' as const) : ('split-right' as const), ref: notebook?.id };
        shell.add(widget, area, labShell ? place : undefined);
        if (labShell && narrow) {
          tellBelow(labShell, widget, notebook?.id);
        }
        if (isNotebookView(widget.content)) {
          attach(widget.content);
        }
        show(widget);
      },
      follow: views => {
        tracker.widgetAdded.connect(() => views.forEach(widget => attach(widget.content)));
        renamed.connect((_, { from, to }) =>
          views.forEach(widget => {
            if (widget.content.path === from) {
              widget.content.renamed(to);
              // Also after a reload.
              void views.save(widget);
            }
          })
        );
      }
    };
  }
};
