/**
 * The ISA view: a kernel's machine code beside the notebook, linked to the cell's lines.
 */

import { codeFolding, foldAll, unfoldAll } from '@codemirror/language';
import { Compartment, EditorState, type StateEffect } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { jupyterTheme } from '@jupyterlab/codemirror';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { OutputAreaModel, SimplifiedOutputArea } from '@jupyterlab/outputarea';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Panel as Row, PanelLayout, Widget } from '@lumino/widgets';

import { compiledCells, type CellRecord } from './cells';
import { count } from './format';
import {
  COLUMNS,
  chosenColumn,
  headings,
  lineColours,
  mix,
  roomFor,
  rowsOfLine,
  toDocument,
  type ColumnName
} from './isa';
import { arrowField, setArrow, type IArrow } from './isaarrows';
import type { IShown } from './isacolumns';
import { decorate, pointedRows, setRows } from './isarows';
import { IsaToolbar, findBox } from './isatoolbar';
import { NotLoaded, kernelLine, type IIsaReply, type KernelLine } from './kernel';
import type { ILink, SourceLinks } from './links';
import type { Preferences } from './preferences';

export interface IIsaTarget {
  /** Path of the notebook. */
  path: string;
  /** Variable that holds the module. */
  module: string;
  kernel: string;
}

/**
 * The panel's content.
 */
export class IsaView extends Widget {
  constructor(
    readonly target: IIsaTarget,
    private readonly links: SourceLinks,
    private readonly preferences: Preferences,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-hipkittens-Isa');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Machine code of %1', target.kernel || target.module));
    const layout = (this.layout = new PanelLayout());
    this.toolbar = new IsaToolbar(
      {
        choose: kernel => this.choose(kernel),
        measure: key => {
          this.measure = key;
          this.render();
        },
        fold: () => foldAll(this.view),
        unfold: () => unfoldAll(this.view),
        compare: () => {
          this.comparing = !this.comparing;
          this.render();
          this.goToChange();
        },
        timeline: () => this.toggleTimeline()
      },
      preferences,
      trans
    );
    layout.addWidget(this.toolbar);
    this.status.addClass('jp-hipkittens-IsaStatus');
    this.status.node.setAttribute('role', 'status');
    // Beside the status: in a narrow panel the toolbar has no room for it.
    const row = new Row();
    row.addClass('jp-hipkittens-IsaRow');
    row.addWidget(this.status);
    row.addWidget(findBox((text, by) => this.find(text, by), trans));
    layout.addWidget(row);
    this.body.addClass('jp-hipkittens-IsaBody');
    layout.addWidget(this.body);
    this.view = new EditorView({
      parent: this.body.node,
      state: EditorState.create({
        extensions: [
          jupyterTheme,
          EditorState.readOnly.of(true),
          EditorView.editable.of(false),
          EditorView.contentAttributes.of({
            'aria-label': trans.__('Instructions'),
            tabindex: '0',
            role: 'textbox',
            'aria-readonly': 'true'
          }),
          codeFolding(),
          pointedRows,
          arrowField,
          this.content.of([]),
          EditorView.domEventHandlers({
            mousemove: event => this.report(event, 'hover'),
            mouseleave: () => this.reportLine(0, 'hover'),
            click: event => this.report(event, 'select'),
            keydown: event => this.step(event)
          })
        ]
      })
    });
    links.fromCell.connect(this.showLink, this);
    this.coloursWere = preferences.isaColours;
    preferences.changed.connect(this.follow, this);
    this.follow();
    this.say(trans.__('Waiting for the notebook %1.', target.path));
  }

  readonly toolbar: IsaToolbar;

  /** Of the notebook. */
  get path(): string {
    return this.target.path;
  }

  /** Follows a notebook that was renamed. */
  renamed(path: string): void {
    this.target.path = path;
  }

  /** Connects to the code's notebook, and asks its kernel. */
  attachNotebook(panel: NotebookPanel): void {
    if (this.panel === panel) {
      return;
    }
    this.line?.changed.disconnect(this.reload, this);
    this.panel = panel;
    this.line = kernelLine(panel.sessionContext);
    this.line.changed.connect(this.reload, this);
    panel.disposed.connect(() => this.dispose());
    this.reload();
  }

  /** Shows another kernel of the module. */
  choose(kernel: string): void {
    if (kernel && kernel !== this.target.kernel) {
      this.target.kernel = kernel;
      this.reload();
    }
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.reportLine(0, 'hover');
    this.colour(new Map());
    this.preferences.changed.disconnect(this.follow, this);
    this.links.fromCell.disconnect(this.showLink, this);
    this.line?.changed.disconnect(this.reload, this);
    this.view.destroy();
    super.dispose();
  }

  /** Asks again and shows the answer. */
  reload(): void {
    if (!this.line || this.isDisposed) {
      return;
    }
    const { module, kernel } = this.target;
    const request = ++this.request;
    this.line
      .ask<IIsaReply>('isa', { module, kernel })
      .then(reply => {
        if (request === this.request && !this.isDisposed) {
          this.reply = reply;
          this.target.kernel = reply.listing.kernel;
          this.render();
        }
      })
      .catch(error => {
        if (request === this.request && !this.isDisposed) {
          const next = error instanceof NotLoaded ? this.trans.__('Then run the cell again.') : '';
          this.say(`${(error as Error).message} ${next}`.trim());
        }
      });
  }

  protected onResize(): void {
    this.makeRoom();
    this.view.requestMeasure();
  }

  /** Shows the selected columns, as far as there is room for them beside the instructions. */
  private makeRoom(): void {
    const width = this.body.node.clientWidth;
    if (!width || !this.shown) {
      return;
    }
    const { listing, column } = this.shown;
    const em = parseFloat(getComputedStyle(this.view.contentDOM).fontSize) || 13;
    const hidden = this.preferences.isaHidden;
    const wanted = headings(listing, column).flatMap(one =>
      one.column && !hidden.includes(one.column) ? [one.column] : []
    );
    const columns = roomFor(width, em, wanted);
    if (columns.join() !== this.columns.join()) {
      this.columns = columns;
      this.view.dispatch({ effects: this.content.reconfigure(decorate(this.shown, columns)) });
    }
    this.toolbar.noRoom = wanted.filter(name => !columns.includes(name));
    this.toolbar.refresh();
  }

  /** Shows what the settings say. */
  private follow(): void {
    this.toolbar.refresh();
    this.makeRoom();
    this.view.requestMeasure();
    if (this.coloursWere !== this.preferences.isaColours) {
      this.coloursWere = this.preferences.isaColours;
      this.render();
    }
  }

  /** Goes to the first difference from the previous compile; renamed registers do not count. */
  private goToChange(): void {
    const lines = this.shown?.document.lines ?? [];
    const at = lines.findIndex(line => line.kind === 'removed' || (line.kind === 'code' && line.added));
    if (this.comparing && at >= 0) {
      const from = this.view.state.doc.line(at + 1).from;
      this.view.dispatch({ effects: EditorView.scrollIntoView(from, { y: 'center' }) });
    }
  }

  /** Goes to the next instruction with a text, wrapping around at the end. */
  private find(text: string, by: number): void {
    const { listing, document } = this.shown ?? {};
    const wanted = text.trim().toLowerCase();
    if (!listing || !document || !wanted) {
      return;
    }
    const count = listing.texts.length;
    for (let n = 1; n <= count; n++) {
      const row = (Math.max(this.row, by < 0 ? 0 : -1) + by * n + count * 2) % count;
      if (listing.texts[row].toLowerCase().includes(wanted)) {
        this.row = row;
        const line = document.lineOfRow[row];
        this.view.dispatch({
          effects: [
            setRows.of([line]),
            EditorView.scrollIntoView(this.view.state.doc.line(line + 1).from, { y: 'center' })
          ]
        });
        return;
      }
    }
    this.say(this.trans.__('No instruction has %1.', text));
  }

  /** Shows the timeline of the kernel's last profile above its instructions, or hides it. */
  private toggleTimeline(): void {
    const layout = this.layout as PanelLayout;
    const kernel = this.panel?.sessionContext.session?.kernel;
    if (this.timeline || !this.panel || !kernel) {
      this.timeline?.dispose();
      this.timeline = null;
    } else {
      const area = new SimplifiedOutputArea({
        model: new OutputAreaModel({ trusted: true }),
        rendermime: this.panel.content.rendermime
      });
      area.addClass('jp-hipkittens-IsaTimeline');
      layout.insertWidget(2, area);
      const code = `__import__('workbench.lab.panel', fromlist=['timeline']).timeline(${JSON.stringify(this.target.kernel)})`;
      // Neither a number in the notebook's prompts nor an entry in its history.
      area.future = kernel.requestExecute({ code, store_history: false });
      this.timeline = area;
    }
    this.toolbar.waves.pressed = this.timeline !== null;
  }

  private render(): void {
    const reply = this.reply;
    if (!reply) {
      return;
    }
    const { listing, previous } = reply;
    const column = chosenColumn(listing, this.measure);
    const compared = this.comparing && previous && reply.edits ? { previous, edits: reply.edits } : null;
    const document = toDocument(listing, column, compared);
    // A comparison has colours of its own.
    const colours =
      compared || !this.preferences.isaColours ? new Map<number, number>() : lineColours(listing);
    this.shown = { document, listing, column, colours };
    this.colour(colours);
    this.toolbar.measures.hidden = column === null;
    this.toolbar.measures.title = column?.doc ?? '';
    this.toolbar.measures.replaceChildren(
      ...(listing.measures ?? []).map(
        one => new Option(`${one.label} (${one.origin})`, one.key, false, one.key === column?.key)
      )
    );
    this.toolbar.kernels.replaceChildren(
      ...reply.kernels.map(name => new Option(name, name, false, name === listing.kernel))
    );
    this.toolbar.compare.enabled = previous !== null;
    this.toolbar.compare.pressed = this.comparing;
    const scroll = this.view.scrollDOM.scrollTop;
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: document.text },
      effects: this.content.reconfigure(decorate(this.shown, this.columns))
    });
    this.makeRoom();
    this.view.scrollDOM.scrollTop = scroll;
    this.say(this.summary(this.shown, previous !== null));
  }

  private summary({ document, listing }: IShown, hasPrevious: boolean): string {
    const most = Math.max(0, ...listing.vgprs);
    const parts = [
      this.trans.__('%1 instructions for %2', listing.texts.length, listing.arch),
      this.trans.__('at most %1 VGPR live', most),
      mix(listing)
        .slice(0, 4)
        .map(entry => `${entry.name} ${count(listing.counts ? entry.executions : entry.instructions)}`)
        .join(', ')
    ];
    if (!listing.counts) {
      parts.push(this.trans.__('not counted yet: profile the cell'));
    }
    if (this.comparing) {
      const renamed = document.renamed
        ? `, ${this.trans.__('%1 only in other registers', document.renamed)}`
        : '';
      parts.push(`+${document.added} −${document.removed}${renamed}`);
    } else if (!hasPrevious) {
      parts.push(this.trans.__('no previous compile'));
    }
    return parts.join(' · ');
  }

  /** Gives the cell's lines the colours of their instructions. */
  private colour(colours: ReadonlyMap<number, number>): void {
    const record = this.record();
    if (this.coloured && this.coloured !== record) {
      this.links.colour(this.coloured, new Map());
    }
    this.coloured = record;
    if (record) {
      this.links.colour(record, colours);
    }
  }

  private say(text: string): void {
    this.status.node.textContent = text;
  }

  private record(): CellRecord | null {
    const cells = compiledCells(this.panel?.content.model);
    return cells.reverse().find(cell => cell.payload?.name === this.target.module) ?? null;
  }

  private showLink(_sender: SourceLinks, link: ILink): void {
    if (!this.shown || link.record.payload?.name !== this.target.module || link.record !== this.record()) {
      return;
    }
    const { document, listing } = this.shown;
    const meant = link.addresses
      ? link.addresses.map(address => listing.addresses.indexOf(address)).filter(row => row >= 0)
      : link.line
        ? rowsOfLine(listing, link.line)
        : [];
    const rows = meant.map(row => document.lineOfRow[row]);
    const effects: StateEffect<unknown>[] = [setRows.of(rows), setArrow.of(this.arrowOf(meant[0]))];
    if (link.action === 'select' && rows.length && !this.areInView(rows)) {
      effects.push(EditorView.scrollIntoView(this.view.state.doc.line(rows[0] + 1).from, { y: 'center' }));
    }
    this.view.dispatch({ effects });
  }

  /** Whether lines of the document are all visible. Scrolling costs more than everything else, and rows that stay
      are easier to follow. */
  private areInView(lines: readonly number[]): boolean {
    const { scrollTop, clientHeight } = this.view.scrollDOM;
    const [first, last] = [Math.min(...lines), Math.max(...lines)].map(line =>
      this.view.lineBlockAt(this.view.state.doc.line(line + 1).from)
    );
    return first.top >= scrollTop && last.bottom <= scrollTop + clientHeight;
  }

  private report(event: MouseEvent, action: ILink['action']): boolean {
    const position = this.view.posAtCoords({ x: event.clientX, y: event.clientY });
    const line =
      position === null ? null : this.shown?.document.lines[this.view.state.doc.lineAt(position).number - 1];
    const row = line?.kind === 'code' ? line.row : undefined;
    const arrow = this.arrowOf(row);
    if (arrow !== this.view.state.field(arrowField)) {
      this.view.dispatch({ effects: setArrow.of(arrow) });
    }
    this.reportLine(row === undefined ? 0 : (this.shown?.listing.lines[row] ?? 0), action, row);
    return false;
  }

  /** From a row to the load that it waits for. */
  private arrowOf(row: number | undefined): IArrow | null {
    const found = this.shown?.listing.waits?.find(([wait]) => wait === row);
    if (!this.shown || !found) {
      return null;
    }
    const [wait, load] = found.map(each => this.shown!.document.lineOfRow[each]);
    return { wait, load };
  }

  /** The rows by keyboard: arrows, page and end keys go along the instructions, Enter to the line of the cell. */
  private step(event: KeyboardEvent): boolean {
    const rows = this.shown?.document.lineOfRow ?? [];
    if (event.key === 'Enter' && this.row >= 0) {
      this.reportLine(this.shown?.listing.lines[this.row] ?? 0, 'select', this.row);
      return true;
    }
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -rows.length, End: rows.length }[
      event.key
    ];
    if (!by || !rows.length || event.ctrlKey || event.metaKey || event.altKey) {
      return false;
    }
    event.preventDefault();
    this.row = Math.max(0, Math.min(rows.length - 1, this.row + by));
    this.reportLine(this.shown?.listing.lines[this.row] ?? 0, 'hover', this.row);
    const at = this.view.state.doc.line(rows[this.row] + 1).from;
    this.view.dispatch({
      selection: { anchor: at },
      effects: EditorView.scrollIntoView(at, { y: 'nearest' })
    });
    return true;
  }

  private reportLine(line: number, action: ILink['action'], row?: number): void {
    if (action === 'hover' && line === this.pointed) {
      return;
    }
    this.pointed = line;
    const record = this.record();
    if (record) {
      const address =
        action === 'select' && row !== undefined ? this.shown?.listing.addresses[row] : undefined;
      this.links.pointInIsa({
        record,
        line,
        action,
        ...(address === undefined ? {} : { addresses: [address] })
      });
      if (this.shown) {
        const { document, listing } = this.shown;
        const rows = line ? rowsOfLine(listing, line).map(row => document.lineOfRow[row]) : [];
        this.view.dispatch({ effects: setRows.of(rows) });
      }
    }
  }

  private readonly status = new Widget();
  private readonly body = new Widget();
  private readonly view: EditorView;
  private readonly content = new Compartment();
  private columns: ColumnName[] = COLUMNS.map(([name]) => name);
  private measure = '';
  private coloursWere = true;
  private coloured: CellRecord | null = null;
  private comparing = false;
  private timeline: SimplifiedOutputArea | null = null;
  private panel: NotebookPanel | null = null;
  private line: KernelLine | null = null;
  private reply: IIsaReply | null = null;
  private shown: IShown | null = null;
  private row = -1;
  private request = 0;
  private pointed = 0;
}
