/**
 * The dashboard: the content of `wb.dashboard()` in a panel of its own, computed by the notebook's kernel.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { OutputAreaModel, SimplifiedOutputArea } from '@jupyterlab/outputarea';
import type { Kernel } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { PanelLayout, Widget } from '@lumino/widgets';

import { kernelLine, untilHeard } from './kernel';

// No name is left in the notebook's variables.
const CODE = "__import__('workbench.lab.panel', fromlist=['show']).show()";

/**
 * The panel's content. Its widgets live in the notebook's kernel: they are found again after a page reload, made
 * again after a restart, and end with the kernel or with the panel.
 */
export class DashboardView extends Widget {
  /**
   * @param _path - of the notebook.
   * @param fresh - whether the user just asked for it, so that a kernel without the workbench loads it.
   * @param trans - the interface's language.
   */
  constructor(
    private _path: string,
    private readonly fresh: boolean,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-hipkittens-Dashboard');
    this.layout = new PanelLayout();
    this.note.addClass('jp-hipkittens-DashboardNote');
    this.note.node.setAttribute('role', 'status');
    (this.layout as PanelLayout).addWidget(this.note);
    this.say(trans.__('Waiting for the notebook %1.', _path));
  }

  /** Of the notebook. */
  get path(): string {
    return this._path;
  }

  /** Follows a notebook that was renamed. */
  renamed(path: string): void {
    this._path = path;
    this.name();
  }

  /** Says whose notebook it is: on the tab, and to a screen reader. */
  private name(): void {
    const text = this.trans.__('HipKittens dashboard of %1', this._path);
    this.node.setAttribute('aria-label', text);
    if (this.parent) {
      this.parent.title.caption = text;
    }
  }

  protected onAfterAttach(): void {
    this.name();
  }

  /** Shows the dashboard of a notebook's kernel. */
  attachNotebook(panel: NotebookPanel): void {
    if (this.panel === panel) {
      return;
    }
    this.panel = panel;
    panel.disposed.connect(() => this.dispose());
    panel.sessionContext.kernelChanged.connect(this.onKernel, this);
    panel.sessionContext.statusChanged.connect(this.onStatus, this);
    void panel.sessionContext.ready.then(() => (this.fresh ? this.draw() : this.restore()));
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    const panel = this.panel;
    if (panel) {
      panel.sessionContext.kernelChanged.disconnect(this.onKernel, this);
      panel.sessionContext.statusChanged.disconnect(this.onStatus, this);
      if (this.area && !panel.isDisposed) {
        kernelLine(panel.sessionContext)
          .ask('close_dashboard')
          .catch(() => undefined);
      }
    }
    super.dispose();
  }

  /** After a page reload, a kernel without the workbench is left alone until the user asks. */
  private async restore(): Promise<void> {
    const session = this.panel?.sessionContext;
    if (!session) {
      return;
    }
    try {
      await kernelLine(session).ask('state');
    } catch {
      this.offer(this.trans.__('The workbench is not loaded in this kernel.'));
      return;
    }
    this.draw();
  }

  private draw(): void {
    const panel = this.panel;
    const kernel = panel?.sessionContext.session?.kernel;
    if (!panel || !kernel || this.isDisposed) {
      this.offer(this.trans.__('The notebook has no kernel.'));
      return;
    }
    this.drop();
    this.returning = false;
    this.say(this.trans.__('Drawing the dashboard …'));
    const area = new SimplifiedOutputArea({
      model: new OutputAreaModel({ trusted: true }),
      rendermime: panel.content.rendermime
    });
    this.area = area;
    (this.layout as PanelLayout).addWidget(area);
    // Neither a number in the notebook's prompts nor an entry in its history.
    area.future = kernel.requestExecute({ code: CODE, store_history: false });
    untilHeard(kernel, area.future.done, () => {
      if (this.area === area) {
        this.draw();
      }
    });
    area.future.done.then(
      () => this.say(''),
      () => {
        if (this.isDisposed || this.area !== area) {
          return;
        }
        if (kernel.isDisposed || kernel.status === 'dead') {
          this.offer(this.trans.__('The kernel ended before the dashboard was drawn.'));
        } else {
          this.awaitKernel();
        }
      }
    );
  }

  private onKernel(session: ISessionContext): void {
    if ((this.area || this.returning) && session.session?.kernel) {
      this.awaitKernel();
    }
  }

  private onStatus(session: ISessionContext, status: Kernel.Status): void {
    if (this.area && (status === 'restarting' || status === 'autorestarting')) {
      this.awaitKernel();
    } else if ((this.area || this.returning) && status === 'dead') {
      this.offer(this.trans.__('The dashboard ended with its kernel.'));
    } else if (this.returning && status === 'idle' && session.session?.kernel) {
      this.draw();
    }
  }

  /** Draws it again once the new kernel is there. */
  private awaitKernel(): void {
    this.drop();
    this.say(this.trans.__('The dashboard comes back with the kernel that starts now.'));
    this.returning = true;
  }

  private drop(): void {
    this.area?.dispose();
    this.area = null;
  }

  private say(text: string): void {
    this.note.node.textContent = text;
    this.note.setHidden(!text);
  }

  /** Says why there is no dashboard, with a button that makes one. */
  private offer(why: string): void {
    this.drop();
    this.returning = false;
    this.say(`${why} `);
    const button = document.createElement('button');
    button.className = 'jp-Button jp-mod-styled jp-mod-accept';
    button.textContent = this.trans.__('Show the dashboard');
    button.addEventListener('click', () => this.draw());
    this.note.node.append(button);
  }

  private readonly note = new Widget();
  private area: SimplifiedOutputArea | null = null;
  private returning = false;
  private panel: NotebookPanel | null = null;
}
