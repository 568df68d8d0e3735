/**
 * The plugin of the sidebar, and the guide in it.
 */

import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import type { IServices } from '../editor';
import { workbenchIcon } from '../icons';
import { Sidebar } from '../sidebar';
import { tutorials } from '../tutorials';
import { INotebooks } from './notebooks';
import { ID, IWorkbench, TEXTS } from './services';

export const sidebar: JupyterFrontEndPlugin<void> = {
  id: `${ID}:sidebar`,
  description: 'The sidebar of the HipKittens workbench.',
  autoStart: true,
  requires: [INotebooks, IWorkbench],
  optional: [ILayoutRestorer, ITranslator],
  activate: (
    { commands, serviceManager, shell }: JupyterFrontEnd,
    { model }: INotebooks,
    { preferences }: IServices,
    restorer: ILayoutRestorer | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load(TEXTS);
    const widget = new Sidebar(model, commands, trans, () => tutorials(serviceManager.contents));
    widget.id = `${ID}-sidebar`;
    widget.title.icon = workbenchIcon;
    widget.title.caption = trans.__('HipKittens workbench');
    shell.add(widget, 'right', { rank: 600, type: 'HipKittens' });
    restorer?.add(widget, widget.id);
    // Once, for the first notebook with kernels.
    let greeted = false;
    model.changed.connect(() => {
      if (!greeted && preferences.isReady && preferences.welcome && model.mentionsUs) {
        greeted = true;
        shell.activateById(widget.id);
      }
    });
    commands.addCommand(CommandIDs.showSidebar, {
      label: trans.__('Show HipKittens Workbench'),
      icon: workbenchIcon,
      execute: () => shell.activateById(widget.id)
    });
    commands.addCommand(CommandIDs.guide, {
      label: trans.__('HipKittens: What Is Where'),
      execute: async () => {
        await preferences.set('welcome', true);
        shell.activateById(widget.id);
      }
    });
  }
};
