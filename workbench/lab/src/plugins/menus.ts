/**
 * The plugin that offers the extension's commands in the palette and in menus.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IMainMenu } from '@jupyterlab/mainmenu';
import { Menu } from '@lumino/widgets';

import { CommandIDs } from '../commands';
import { ID } from './services';

export const menus: JupyterFrontEndPlugin<void> = {
  id: `${ID}:menus`,
  description: 'The commands of the HipKittens workbench in the palette and in menus.',
  autoStart: true,
  optional: [ICommandPalette, IMainMenu],
  activate: ({ commands }: JupyterFrontEnd, palette: ICommandPalette | null, mainMenu: IMainMenu | null) => {
    const all = Object.values(CommandIDs);
    for (const command of all) {
      palette?.addItem({ command, category: 'HipKittens' });
    }
    if (mainMenu) {
      const menu = new Menu({ commands });
      menu.title.label = 'HipKittens';
      menu.id = `${ID}-menu`;
      for (const command of all) {
        menu.addItem({ command });
      }
      mainMenu.helpMenu.addGroup([{ command: CommandIDs.tutorials }, { command: CommandIDs.guide }], 20);
      mainMenu.addMenu(menu, false, { rank: 450 });
    }
  }
};
