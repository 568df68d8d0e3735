/**
 * The plugin of the ISA view: a kernel's machine code beside its notebook.
 */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { currentCell } from '../actions';
import { compiledCells } from '../cells';
import { CommandIDs } from '../commands';
import type { IServices } from '../editor';
import { isaIcon } from '../icons';
import { IsaView, type IIsaTarget } from '../isaview';
import { moduleName } from '../magic';
import { connectTimelines } from '../timelines';
import { IPlaces } from './places';
import { ID, IWorkbench, TEXTS } from './services';

export const isa: JupyterFrontEndPlugin<void> = {
  id: `${ID}:isa`,
  description: 'Machine code of the kernels in a notebook, linked with their lines.',
  autoStart: true,
  requires: [INotebookTracker, IWorkbench, IPlaces],
  optional: [ILayoutRestorer, ITranslator],
  activate: (
    { commands }: JupyterFrontEnd,
    tracker: INotebookTracker,
    { links, preferences }: IServices,
    places: IPlaces,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load(TEXTS);
    const views = new WidgetTracker<MainAreaWidget<IsaView>>({ namespace: `${ID}-isa` });
    places.follow(views);
    const open = (target: IIsaTarget) => {
      const present = views.find(
        ({ content }) => content.target.path === target.path && content.target.module === target.module
      );
      if (present) {
        present.content.choose(target.kernel);
        places.show(present);
        return;
      }
      const content = new IsaView(target, links, preferences, trans);
      const widget = new MainAreaWidget({ content });
      // All contents of the frame have the same name; a screen reader must hear which this is.
      content.node.setAttribute('aria-label', trans.__('Machine code of %1', target.kernel || target.module));
      widget.id = `${ID}-isa-${target.module}-${target.path.replace(/\W+/g, '-')}`;
      widget.title.label = trans.__('ISA of %1', target.module);
      widget.title.icon = isaIcon;
      widget.title.closable = true;
      void views.add(widget);
      places.add(widget, target.path);
    };
    const cell = () => currentCell(tracker.currentWidget);
    commands.addCommand(CommandIDs.isa, {
      label: args =>
        args.path ? trans.__('ISA of %1', String(args.module)) : trans.__('Show Machine Code (ISA)'),
      caption: trans.__('Open the machine code of the current cell beside the notebook'),
      icon: isaIcon,
      isEnabled: args => Boolean(args.module) || cell() !== null,
      execute: args => {
        const line = cell()?.model.sharedModel.getSource().split('\n', 1)[0] ?? '';
        const module = String(args.module ?? '') || moduleName(line);
        const path = String(args.path ?? '') || (tracker.currentWidget?.context.path ?? '');
        if (module && path) {
          open({ path, module, kernel: String(args.kernel ?? '') });
        }
      }
    });
    connectTimelines(links, kernel => {
      const cells = compiledCells(tracker.currentWidget?.content.model).reverse();
      return cells.find(({ payload }) => payload?.kernels.some(({ name }) => name === kernel)) ?? null;
    });
    void restorer?.restore(views, {
      command: CommandIDs.isa,
      args: ({ content }) => ({ ...content.target }),
      name: ({ id }) => id
    });
  }
};
