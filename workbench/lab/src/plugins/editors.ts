/**
 * The plugins of cells' editors: highlighting, findings, hover and heat; completion.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { EditorExtensionRegistry, IEditorExtensionRegistry } from '@jupyterlab/codemirror';
import { ICompletionProviderManager } from '@jupyterlab/completer';

import { recordOf } from '../cells';
import { HipkittensCompletions } from '../completion';
import { cellExtension, type IServices } from '../editor';
import { focusAtOnce } from '../focus';
import { problems } from '../problems';
import { ID, IWorkbench } from './services';

export const editors: JupyterFrontEndPlugin<void> = {
  id: `${ID}:editors`,
  description: 'C++ highlighting, findings, hover and line heat in cells that start with %%hipkittens.',
  autoStart: true,
  requires: [IEditorExtensionRegistry, IWorkbench],
  activate: (_app: JupyterFrontEnd, registry: IEditorExtensionRegistry, shared: IServices) => {
    document.addEventListener('mousedown', focusAtOnce, true);
    problems.connect((_, message) => void Notification.warning(message));
    registry.addExtension({
      name: ID,
      factory: ({ model }) =>
        EditorExtensionRegistry.createImmutableExtension(
          cellExtension(recordOf(model), model.sharedModel.getSource(), shared)
        )
    });
  }
};

export const completion: JupyterFrontEndPlugin<void> = {
  id: `${ID}:completion`,
  description: 'Completion in cells that start with %%hipkittens.',
  autoStart: true,
  requires: [ICompletionProviderManager],
  activate: (_app: JupyterFrontEnd, manager: ICompletionProviderManager) => {
    manager.registerProvider(new HipkittensCompletions());
  }
};
