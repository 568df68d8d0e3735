/**
 * The plugin of the commands that run the current cell: plainly, verified, profiled, sanitized.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker, NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { currentCell, loadWorkbench, noteReply, runWithOptions, verifyOptions } from '../actions';
import { CommandIDs } from '../commands';
import type { IServices } from '../editor';
import { kernelLine, type IKernelState } from '../kernel';
import { INotebooks } from './notebooks';
import { ID, IWorkbench, TEXTS } from './services';

export const runs: JupyterFrontEndPlugin<void> = {
  id: `${ID}:runs`,
  description: 'Commands that run, verify, profile and sanitize a cell.',
  autoStart: true,
  requires: [INotebookTracker, INotebooks, IWorkbench],
  optional: [ITranslator],
  activate: (
    { commands }: JupyterFrontEnd,
    tracker: INotebookTracker,
    { model }: INotebooks,
    { preferences }: IServices,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load(TEXTS);
    const cell = () => currentCell(tracker.currentWidget);
    const withCell = { isEnabled: () => cell() !== null };
    const runOptions = async (options: readonly string[]) => {
      const panel = tracker.currentWidget;
      const current = cell();
      if (panel && current) {
        await runWithOptions(panel, current, options);
      }
    };
    // A kernel that has just loaded the workbench has not reported yet.
    const specsOf = async (panel: NotebookPanel) =>
      model.state?.specs.length
        ? model.state.specs
        : await kernelLine(panel.sessionContext)
            .ask<IKernelState>('state')
            .then(state => state.specs)
            .catch(() => []);
    const verify = async (again: boolean) => {
      const panel = tracker.currentWidget;
      const current = cell();
      if (!panel || !current) {
        return;
      }
      // The click is acknowledged at once; loading takes seconds.
      current.setPrompt('*');
      await loadWorkbench(panel);
      current.setPrompt(`${current.model.executionCount ?? ''}`);
      const options = await verifyOptions(panel, current, await specsOf(panel), trans, again);
      if (options) {
        noteReply(current, await runWithOptions(panel, current, options));
      }
    };
    const sanitizes = () => model.state === null || model.state.options.includes('--sanitize');

    commands.addCommand(CommandIDs.run, {
      label: trans.__('Run HipKittens Cell'),
      caption: trans.__('Compile the current cell, and run what its options ask for'),
      ...withCell,
      execute: async () => {
        const panel = tracker.currentWidget;
        if (panel) {
          cell()?.setPrompt('*');
          await loadWorkbench(panel);
          await NotebookActions.run(panel.content, panel.sessionContext);
        }
      }
    });
    commands.addCommand(CommandIDs.verify, {
      label: trans.__('Verify HipKittens Cell'),
      caption: trans.__('Run the current cell and compare it with a PyTorch reference'),
      ...withCell,
      execute: () => verify(false)
    });
    commands.addCommand(CommandIDs.reference, {
      label: trans.__('Choose Reference of HipKittens Cell…'),
      caption: trans.__('Say what the current cell is verified against, and verify it'),
      ...withCell,
      execute: () => verify(true)
    });
    commands.addCommand(CommandIDs.profile, {
      label: trans.__('Profile HipKittens Cell'),
      caption: trans.__('Run the current cell with counters; shows where the time goes, line by line'),
      ...withCell,
      execute: () => runOptions(['--profile'])
    });
    commands.addCommand(CommandIDs.sanitize, {
      label: trans.__('Sanitize HipKittens Cell'),
      caption: () =>
        sanitizes()
          ? trans.__('Run the current cell with checks of memory and races')
          : trans.__('This version of the workbench in the kernel has no sanitizer.'),
      isEnabled: () => cell() !== null && sanitizes(),
      execute: () => runOptions(['--sanitize'])
    });
    commands.addCommand(CommandIDs.toggleHeat, {
      label: trans.__('Show Line Heat'),
      isToggled: () => preferences.lineHeat,
      execute: () => preferences.set('lineHeat', !preferences.lineHeat)
    });
  }
};
