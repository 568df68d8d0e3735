/**
 * A dashboard in a cell's output: the live page while the kernel has it, nothing once it is gone.
 *
 * The widget manager shows an error, on the page and in the console, for a view whose model is gone; a notebook that
 * was reopened shows the copy that is kept beside the view.
 */

import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import { PanelLayout, Widget } from '@lumino/widgets';

/** As `workbench.views.static_copy` names it. */
export const MIME_TYPE = 'application/vnd.hipkittens.dashboard+json';
const WIDGET_MIME_TYPE = 'application/vnd.jupyter.widget-view+json';

/** Before the widget manager's own renderer, which has -10. */
const RANK = -20;

/**
 * Shows the dashboards of a notebook.
 */
export function addLiveViews(panel: NotebookPanel): void {
  // A busy kernel answers late, so the widgets that it opened while this page was there are remembered.
  const opened = new Set<string>();
  panel.sessionContext.iopubMessage.connect((_, message) => {
    if (message.header.msg_type === 'comm_open') {
      opened.add((message as KernelMessage.ICommOpenMsg).content.comm_id);
    }
  });
  panel.sessionContext.statusChanged.connect((_, status) => {
    if (status === 'restarting' || status === 'autorestarting') {
      opened.clear();
    }
  });
  panel.content.rendermime.addFactory(
    // Safe, although the widget's own renderer is not: from an untrusted output, this one takes only a widget's id, and
    // shows the notebook kernel's widget with that id, or nothing (tests/browser/test_untrusted.py).
    { safe: true, mimeTypes: [MIME_TYPE], createRenderer: () => new LiveView(panel, opened) },
    RANK
  );
}

/**
 * Whether a kernel has a widget.
 */
export async function hasWidget(
  kernel: Pick<Kernel.IKernelConnection, 'requestCommInfo'> | null | undefined,
  opened: ReadonlySet<string>,
  id: string
): Promise<boolean> {
  if (opened.has(id)) {
    return true;
  }
  const reply = await kernel?.requestCommInfo({ target_name: 'jupyter.widget' });
  return reply?.content.status === 'ok' && id in reply.content.comms;
}

class LiveView extends Widget implements IRenderMime.IRenderer {
  constructor(
    private readonly panel: NotebookPanel,
    private readonly opened: ReadonlySet<string>
  ) {
    super();
    this.layout = new PanelLayout();
    this.addClass('jp-hipkittens-LiveView');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const { sessionContext, content } = this.panel;
    const id = (model.data[WIDGET_MIME_TYPE] as { model_id?: string } | undefined)?.model_id ?? '';
    if (!this.opened.has(id)) {
      await sessionContext.ready;
    }
    if (!(await hasWidget(sessionContext.session?.kernel, this.opened, id)) || this.isDisposed) {
      this.hide();
      return;
    }
    // The copy comes next, the widget's own script later: a figure of the copy that was on the page between
    // them would be saved as the picture that JupyterLab took of it.
    this.addClass('jp-mod-live');
    const live = content.rendermime.createRenderer(WIDGET_MIME_TYPE);
    (this.layout as PanelLayout).addWidget(live);
    await live.renderModel(model);
  }
}
