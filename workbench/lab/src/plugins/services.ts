/**
 * Shared services of the extension's plugins, and the plugin that reads its settings.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Token } from '@lumino/coreutils';

import type { IServices } from '../editor';
import { SourceLinks } from '../links';
import { Preferences } from '../preferences';

export const ID = 'hipkittens-workbench';

/** Domain of the extension's texts. */
export const TEXTS = 'hipkittens_workbench';

export const IWorkbench = new Token<IServices>(`${ID}:IWorkbench`);

export const services: JupyterFrontEndPlugin<IServices> = {
  id: `${ID}:plugin`,
  description: 'Settings that the HipKittens workbench shares.',
  autoStart: true,
  provides: IWorkbench,
  optional: [ISettingRegistry],
  activate: (_app: JupyterFrontEnd, settings: ISettingRegistry | null) => {
    const preferences = new Preferences();
    void settings
      ?.load(services.id)
      .then(loaded => preferences.follow(loaded))
      .catch(error => console.warn(`The settings of ${ID} cannot be read; defaults are used.`, error));
    return { preferences, links: new SourceLinks() };
  }
};
