/**
 * The plugin of what a kernel begins with: templates, tutorials, their cards in the launcher; and of the page that a
 * notebook ends as.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { chooseTemplate, savePage } from '../actions';
import { CommandIDs } from '../commands';
import { cardUrl, workbenchIcon } from '../icons';
import { createNotebook, insertTemplate, selectKernel } from '../newkernel';
import { TEMPLATES } from '../templates';
import { tutorials } from '../tutorials';
import { INotebooks } from './notebooks';
import { ID, TEXTS } from './services';

/** Of our cards: one of our own would be below all others, out of sight. */
const CATEGORY = 'Notebook';

export const templates: JupyterFrontEndPlugin<void> = {
  id: `${ID}:templates`,
  description: 'New kernels from templates, the tutorials, and a notebook as one page.',
  autoStart: true,
  requires: [INotebookTracker, INotebooks],
  optional: [ILauncher, ITranslator],
  activate: (
    { commands, serviceManager }: JupyterFrontEnd,
    tracker: INotebookTracker,
    { model }: INotebooks,
    launcher: ILauncher | null,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load(TEXTS);
    const named = (name: unknown) => TEMPLATES.find(template => template.name === name);
    commands.addCommand(CommandIDs.newNotebook, {
      label: args => {
        const title = named(args.template)?.title;
        return title
          ? args.isLauncher
            ? trans.__('HipKittens %1', title)
            : title
          : trans.__('New HipKittens Notebook from Template…');
      },
      caption: args =>
        named(args.template)?.about ??
        trans.__('Open a notebook with a kernel, its launch, inputs and reference'),
      icon: workbenchIcon,
      execute: async args => {
        const template = await chooseTemplate(String(args.template ?? ''), trans);
        if (!template) {
          return;
        }
        const { contents, kernelspecs } = serviceManager;
        await kernelspecs.ready;
        const folder = String(args.cwd ?? PathExt.dirname(tracker.currentWidget?.context.path ?? ''));
        const kernel = kernelspecs.specs?.default ?? 'python3';
        const path = await createNotebook(contents, template, kernel, folder);
        // Notebook 7 opens it in a page of its own.
        const panel = (await commands.execute('docmanager:open', { path })) as NotebookPanel | undefined;
        await panel?.revealed;
        if (panel) {
          selectKernel(panel.content);
        }
      }
    });
    commands.addCommand(CommandIDs.insertTemplate, {
      label: args => named(args.template)?.title ?? trans.__('Insert Kernel from Template…'),
      caption: trans.__('Insert a kernel below, with launch, inputs and reference, from a template'),
      icon: workbenchIcon,
      isEnabled: () => tracker.currentWidget !== null,
      // The cell toolbar has room for it if the notebook is one of ours.
      isVisible: args => !args.toolbar || model.mentionsUs,
      execute: async args => {
        const notebook = tracker.currentWidget?.content;
        const template = notebook && (await chooseTemplate(String(args.template ?? ''), trans));
        if (notebook && template) {
          insertTemplate(notebook, template);
        }
      }
    });
    TEMPLATES.forEach(({ name: template }, rank) => {
      launcher?.add({
        command: CommandIDs.newNotebook,
        args: { template, isLauncher: true },
        category: CATEGORY,
        kernelIconUrl: cardUrl(),
        rank: rank + 2
      });
    });
    commands.addCommand(CommandIDs.tutorials, {
      label: args => (args.isLauncher ? trans.__('HipKittens Tutorial') : trans.__('HipKittens: Tutorials')),
      caption: trans.__('Open the first HipKittens tutorial, and the sidebar that says what is where'),
      icon: workbenchIcon,
      execute: async () => {
        await commands.execute(CommandIDs.guide);
        const path = (await tutorials(serviceManager.contents))[0]?.path;
        if (path) {
          await commands.execute('docmanager:open', { path });
        } else {
          Notification.info(
            trans.__(
              'The tutorials are not in this folder. They are in the folder notebooks of the HipKittens workbench.'
            )
          );
        }
      }
    });
    launcher?.add({
      command: CommandIDs.tutorials,
      args: { isLauncher: true },
      category: CATEGORY,
      kernelIconUrl: cardUrl(),
      rank: 1
    });
    commands.addCommand(CommandIDs.savePage, {
      label: trans.__('Save as One Page…'),
      caption: trans.__('Write this notebook, its runs, figures and machine code as one HTML file beside it'),
      isEnabled: () => tracker.currentWidget !== null,
      execute: async () => {
        const panel = tracker.currentWidget;
        if (panel) {
          await panel.context.save();
          const reply = await savePage(panel);
          if (reply.error) {
            Notification.error(reply.error);
          } else {
            Notification.success(trans.__('Saved as %1', reply.page));
          }
        }
      }
    });
  }
};
