/**
 * The plugin of the dashboard.
 */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import { DashboardView } from '../dashboard';
import { dashboardIcon } from '../icons';
import { INotebooks } from './notebooks';
import { IPlaces } from './places';
import { ID, TEXTS } from './services';

export const dashboard: JupyterFrontEndPlugin<void> = {
  id: `${ID}:dashboard`,
  description: 'Runs, counters and roofline of a notebook, live.',
  autoStart: true,
  requires: [INotebookTracker, INotebooks, IPlaces],
  optional: [ILayoutRestorer, ITranslator],
  activate: (
    { commands }: JupyterFrontEnd,
    tracker: INotebookTracker,
    { model }: INotebooks,
    places: IPlaces,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load(TEXTS);
    const views = new WidgetTracker<MainAreaWidget<DashboardView>>({ namespace: `${ID}-dashboard` });
    places.follow(views);
    const open = (path: string, fresh: boolean) => {
      const present = views.find(({ content }) => content.path === path);
      if (present) {
        places.show(present);
        return;
      }
      const widget = new MainAreaWidget({ content: new DashboardView(path, fresh, trans) });
      widget.id = `${ID}-dashboard-${path.replace(/\W+/g, '-')}`;
      widget.title.label = trans.__('Dashboard');
      widget.title.icon = dashboardIcon;
      widget.title.closable = true;
      void views.add(widget);
      places.add(widget, path);
    };
    commands.addCommand(CommandIDs.dashboard, {
      label: trans.__('Open HipKittens Dashboard'),
      caption: trans.__('Runs, counters and roofline of this notebook, live'),
      icon: dashboardIcon,
      isEnabled: args =>
        Boolean(args.path) ||
        (tracker.currentWidget !== null && (model.state?.functions.includes('dashboard') ?? true)),
      execute: args => {
        const path = String(args.path ?? '') || tracker.currentWidget?.context.path;
        if (path) {
          open(path, args.restored !== true);
        }
      }
    });
    void restorer?.restore(views, {
      command: CommandIDs.dashboard,
      args: ({ content }) => ({ path: content.path, restored: true }),
      name: ({ id }) => id
    });
  }
};
