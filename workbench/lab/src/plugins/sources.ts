/**
 * The plugin for a cell's source: going to a definition, also in a header, and formatting.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { MainAreaWidget, Notification } from '@jupyterlab/apputils';
import type { CodeCell } from '@jupyterlab/cells';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { currentCell, loadWorkbench } from '../actions';
import { CommandIDs } from '../commands';
import { goToFinding } from '../diagnostics';
import { HeaderView } from '../headerview';
import { kernelLine, type KernelLine } from '../kernel';
import { formatCell, goToDefinition, type IHeader } from '../source';
import { IPlaces } from './places';
import { ID, TEXTS } from './services';

export const sources: JupyterFrontEndPlugin<void> = {
  id: `${ID}:sources`,
  description: 'Definitions, findings and the form of the C++ in a cell.',
  autoStart: true,
  requires: [INotebookTracker, IPlaces],
  optional: [ITranslator],
  activate: (
    { commands }: JupyterFrontEnd,
    tracker: INotebookTracker,
    places: IPlaces,
    translator: ITranslator | null
  ) => {
    const trans = (translator ?? nullTranslator).load(TEXTS);
    const cell = () => currentCell(tracker.currentWidget);
    const withCell = { isEnabled: () => cell() !== null };
    const headers = new Map<string, MainAreaWidget<HeaderView>>();
    const openHeader = (header: IHeader, path: string) => {
      let widget = headers.get(header.file);
      if (!widget || widget.content.header.text !== header.text) {
        widget?.dispose();
        widget = new MainAreaWidget({ content: new HeaderView(header, trans) });
        widget.id = `${ID}-header-${header.file.replace(/\W+/g, '-')}`;
        widget.title.label = header.file.split('/').pop() ?? header.file;
        widget.title.caption = header.file;
        widget.title.closable = true;
        widget.disposed.connect(() => headers.delete(header.file));
        headers.set(header.file, widget);
        places.add(widget, path);
      }
      places.show(widget);
      widget.content.goTo(header.line);
    };
    // Subject of a question to the kernel, with the message for a failure.
    const askKernel = async (act: (current: CodeCell, line: KernelLine) => Promise<void>) => {
      const panel = tracker.currentWidget;
      const current = cell();
      if (panel && current) {
        await loadWorkbench(panel);
        await act(current, kernelLine(panel.sessionContext)).catch((error: Error) => {
          Notification.warning(error.message);
        });
      }
    };
    commands.addCommand(CommandIDs.definition, {
      label: trans.__('Go to Definition'),
      caption: trans.__('Go to where the name at the cursor is declared, in the cell or in a header'),
      ...withCell,
      execute: () =>
        askKernel(async (current, line) => {
          const header = await goToDefinition(current, line);
          if (header) {
            openHeader(header, tracker.currentWidget?.context.path ?? '');
          } else if (header === undefined) {
            Notification.info(trans.__('No declaration of the name at the cursor is known.'));
          }
        })
    });
    commands.addCommand(CommandIDs.format, {
      label: trans.__('Format Cell'),
      caption: trans.__('Bring the C++ of the current cell to form with clang-format'),
      ...withCell,
      execute: () => askKernel(formatCell)
    });
    for (const [id, label, forward] of [
      [CommandIDs.nextFinding, trans.__('Next Finding in Cell'), true],
      [CommandIDs.previousFinding, trans.__('Previous Finding in Cell'), false]
    ] as const) {
      commands.addCommand(id, {
        label,
        ...withCell,
        execute: () => {
          const editor = cell()?.editor as CodeMirrorEditor | undefined;
          if (editor) {
            editor.focus();
            goToFinding(editor.editor, forward);
          }
        }
      });
    }
  }
};
