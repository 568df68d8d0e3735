/**
 * The dashboard: what `wb.dashboard()` shows, in a panel of its own, made by the notebook's kernel.
 */

import { MainAreaWidget } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { OutputAreaModel, SimplifiedOutputArea } from '@jupyterlab/outputarea';

import { workbenchIcon } from './icons';

const CODE = 'import workbench as _wb\ndisplay(_wb.dashboard())';

/**
 * A panel with the dashboard of a notebook; widgets in it belong to the notebook's kernel.
 */
export function dashboardPanel(panel: NotebookPanel, title: string): MainAreaWidget<SimplifiedOutputArea> {
  const content = new SimplifiedOutputArea({
    model: new OutputAreaModel({ trusted: true }),
    rendermime: panel.content.rendermime
  });
  content.addClass('jp-hipkittens-Dashboard');
  const widget = new MainAreaWidget({ content });
  widget.title.label = title;
  widget.title.icon = workbenchIcon;
  widget.title.closable = true;
  void SimplifiedOutputArea.execute(CODE, content, panel.sessionContext).catch(() => {
    // What went wrong is in the output; a kernel that went away leaves it as it was.
  });
  return widget;
}
