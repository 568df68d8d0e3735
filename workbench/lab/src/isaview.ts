/**
 * The ISA view: a kernel's machine code beside the notebook, linked to the cell's lines.
 */

import { codeFolding, foldAll, foldGutter, foldService, unfoldAll } from '@codemirror/language';
import {
  Compartment,
  EditorState,
  RangeSetBuilder,
  StateEffect,
  StateField,
  type Extension
} from '@codemirror/state';
import {
  Decoration,
  EditorView,
  GutterMarker,
  ViewPlugin,
  gutter,
  showPanel,
  type DecorationSet,
  type Panel
} from '@codemirror/view';
import { jupyterTheme } from '@jupyterlab/codemirror';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { OutputAreaModel, SimplifiedOutputArea } from '@jupyterlab/outputarea';
import { Toolbar, ToolbarButton } from '@jupyterlab/ui-components';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Panel as Row, PanelLayout, Widget } from '@lumino/widgets';

import { compiledCells, type CellRecord } from './cells';
import { count, percent, quantity } from './format';
import {
  COLUMNS,
  chosenColumn,
  headings,
  hex,
  lineColours,
  mix,
  roomFor,
  rowsOfLine,
  toDocument,
  total,
  type ColumnName,
  type IColumn,
  type IDocument,
  type IHeading,
  type IListing
} from './isa';
import { NotLoaded, kernelLine, type IIsaReply, type KernelLine } from './kernel';
import { colouredLine, type ILink, type SourceLinks } from './links';
import type { Preferences } from './preferences';

export interface IIsaTarget {
  /** Path of the notebook. */
  path: string;
  /** Variable that holds the module. */
  module: string;
  kernel: string;
}

interface IShown {
  document: IDocument;
  listing: IListing;
  column: IColumn | null;
  /** Colours of the cell's lines; empty while a comparison has its own. */
  colours: ReadonlyMap<number, number>;
}

const setRows = StateEffect.define<readonly number[]>();
const setArrow = StateEffect.define<IArrow | null>();

/** From a wait to the load that it waits for, as lines of the document. */
interface IArrow {
  wait: number;
  load: number;
}

/** The arrow that is drawn beside the rows: of the wait that is pointed at. */
const arrowField = StateField.define<IArrow | null>({
  create: () => null,
  update(arrow, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setArrow)) {
        return effect.value;
      }
    }
    return transaction.docChanged ? null : arrow;
  }
});

class ArrowMarker extends GutterMarker {
  constructor(
    readonly part: 'wait' | 'load' | 'between',
    readonly up: boolean
  ) {
    super();
  }

  eq(other: ArrowMarker): boolean {
    return other.part === this.part && other.up === this.up;
  }

  toDOM(): Node {
    const dom = document.createElement('span');
    const corner = this.up ? { wait: '└─', load: '┌▸' } : { wait: '┌─', load: '└▸' };
    dom.textContent = this.part === 'between' ? '│' : corner[this.part];
    dom.title = this.part === 'load' ? 'what the wait is for' : '';
    return dom;
  }
}

const arrowGutter = gutter({
  class: 'jp-hipkittens-IsaArrow',
  lineMarker: (view, block) => {
    const arrow = view.state.field(arrowField);
    const line = view.state.doc.lineAt(block.from).number - 1;
    if (!arrow || line < Math.min(arrow.wait, arrow.load) || line > Math.max(arrow.wait, arrow.load)) {
      return null;
    }
    const part = line === arrow.wait ? 'wait' : line === arrow.load ? 'load' : 'between';
    return new ArrowMarker(part, arrow.load < arrow.wait);
  },
  lineMarkerChange: update => update.startState.field(arrowField) !== update.state.field(arrowField)
});

/** Rows that a cell's line points at. */
const pointedRows = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setRows)) {
        const doc = transaction.newDoc;
        return Decoration.set(effect.value.map(line => linkedRow.range(doc.line(line + 1).from)));
      }
    }
    return marks;
  },
  provide: field => EditorView.decorations.from(field)
});

const linkedRow = Decoration.line({ class: 'jp-hipkittens-linked' });
const addedRow = Decoration.line({ class: 'jp-hipkittens-added' });
const removedRow = Decoration.line({ class: 'jp-hipkittens-removed' });
const renamedRow = Decoration.line({ class: 'jp-hipkittens-renamed' });
const headingRow = Decoration.line({ class: 'jp-hipkittens-heading' });
const neverRow = Decoration.line({ class: 'jp-hipkittens-never' });

class TextMarker extends GutterMarker {
  constructor(
    readonly text: string,
    readonly title = ''
  ) {
    super();
  }

  eq(other: TextMarker): boolean {
    return other.text === this.text && other.title === this.title;
  }

  toDOM(): Node {
    if (!this.title) {
      return document.createTextNode(this.text);
    }
    const dom = document.createElement('span');
    dom.textContent = this.text;
    dom.title = this.title;
    return dom;
  }
}

class PressureMarker extends GutterMarker {
  constructor(
    readonly vgprs: number,
    readonly agprs: number,
    readonly most: number
  ) {
    super();
  }

  eq(other: PressureMarker): boolean {
    return other.vgprs === this.vgprs && other.agprs === this.agprs && other.most === this.most;
  }

  toDOM(): Node {
    const dom = document.createElement('div');
    dom.className = 'jp-hipkittens-Pressure';
    dom.title = `${this.vgprs} VGPR${this.agprs ? ` and ${this.agprs} AGPR` : ''} hold a value that is still needed`;
    dom.textContent = String(this.vgprs + this.agprs);
    dom.style.setProperty(
      '--jp-hipkittens-pressure',
      `${Math.round(((this.vgprs + this.agprs) / this.most) * 100)}%`
    );
    return dom;
  }
}

class CostMarker extends GutterMarker {
  constructor(
    readonly value: number,
    readonly sum: number,
    readonly most: number,
    readonly column: IColumn
  ) {
    super();
  }

  eq(other: CostMarker): boolean {
    return other.value === this.value && other.sum === this.sum && other.column.key === this.column.key;
  }

  toDOM(): Node {
    const dom = document.createElement('div');
    const { label, unit, origin } = this.column;
    dom.className = 'jp-hipkittens-IsaCostMark';
    dom.textContent = this.value ? percent(this.value / this.sum) : '';
    dom.title = `${label}: ${quantity(this.value, unit)} (${origin})`;
    dom.style.setProperty('--jp-hipkittens-heat', `${Math.round((this.value / this.most) * 100)}%`);
    return dom;
  }
}

/** A row of headings above the gutters, as wide as they are. */
function headingRowOf(told: readonly IHeading[]): (view: EditorView) => Panel {
  return view => {
    const dom = document.createElement('div');
    dom.className = 'jp-hipkittens-IsaHeadings';
    dom.setAttribute('role', 'note');
    dom.setAttribute(
      'aria-label',
      `Columns: ${told.map(({ name, detail, doc }) => `${name}, ${detail}: ${doc}`).join('; ')}`
    );
    const cells = told.map(heading => {
      const cell = document.createElement('div');
      cell.title = heading.doc;
      cell.dataset.column = heading.column;
      const name = document.createElement('b');
      name.textContent = heading.name;
      const detail = document.createElement('small');
      detail.textContent = heading.detail;
      cell.append(name, detail);
      dom.append(cell);
      return cell;
    });
    const fit = () =>
      view.requestMeasure({
        key: dom,
        read: () => ({
          widths: told.map(
            ({ column }) =>
              view.dom.querySelector(`.cm-gutter.jp-hipkittens-Isa${column}`)?.getBoundingClientRect()
                .width ?? 0
          ),
          gutters: view.dom.querySelector('.cm-gutters')?.getBoundingClientRect().width ?? 0
        }),
        write: ({ widths, gutters }) => {
          widths.forEach((width, index) => {
            if (width) {
              cells[index].style.width = `${width}px`;
            }
          });
          // The arrows' and the folds' gutters have no heading.
          const rest = gutters - widths.reduce((sum, width) => sum + width, 0);
          cells[cells.length - 1].style.marginLeft = `${Math.max(0, rest)}px`;
        }
      });
    fit();
    return {
      dom,
      top: true,
      update: update => {
        if (update.geometryChanged || update.docChanged || update.viewportChanged) {
          fit();
        }
      }
    };
  };
}

type RowMarker = (
  marker: (row: number) => GutterMarker | null
) => (view: EditorView, block: { from: number }) => GutterMarker | null;

const columnWidths = EditorView.baseTheme(
  Object.fromEntries(
    COLUMNS.map(([name, width]) => [`.jp-hipkittens-Isa${name}`, { minWidth: `${width}px` }])
  )
);

/** What stands in a column beside an instruction. */
function markerOf(name: ColumnName, { listing, column }: IShown): (row: number) => GutterMarker | null {
  switch (name) {
    case 'Address':
      return row => new TextMarker(hex(listing.addresses[row]));
    case 'Count':
      return row => {
        const value = listing.counts?.[row] ?? 0;
        const title = `${value.toLocaleString('en-US')} executions, counted over all waves`;
        return new TextMarker(count(value), title);
      };
    case 'Cost': {
      const sum = (column && total(column)) || 1;
      const most = Math.max(...(column?.values ?? []), 0) || 1;
      return row => column && new CostMarker(column.values[row] ?? 0, sum, most, column);
    }
    case 'Pressure': {
      const most = Math.max(1, ...listing.vgprs.map((value, row) => value + listing.agprs[row]));
      return row => new PressureMarker(listing.vgprs[row], listing.agprs[row], most);
    }
    case 'Source':
      return row => {
        const line = listing.lines[row];
        const header = listing.headers[row];
        return line || header
          ? new TextMarker(line ? `${line}${header ? '*' : ''}` : '·', header || `line ${line} of the cell`)
          : null;
      };
  }
}

/**
 * What is static about a document: decorations, gutters and folds.
 *
 * @param columns - those that are shown; what is hidden is not drawn at all.
 */
function decorate(shown: IShown, columns: readonly ColumnName[]): Extension {
  const { document: doc, listing, column, colours } = shown;
  const told = headings(listing, column).filter(one => !one.column || columns.includes(one.column));
  const lineAt = (state: EditorState, from: number) => doc.lines[state.doc.lineAt(from).number - 1];
  const rowMarker: RowMarker = marker => (view, block) => {
    const line = lineAt(view.state, block.from);
    return line?.kind === 'code' ? marker(line.row) : null;
  };
  return [
    foldService.of((state, start) => {
      const number = state.doc.lineAt(start).number;
      const last = doc.folds.get(number - 1);
      return last === undefined ? null : { from: state.doc.line(number).to, to: state.doc.line(last + 1).to };
    }),
    showPanel.of(headingRowOf(told)),
    ViewPlugin.define(view => new RowDecorations(view, doc, listing, colours), {
      decorations: plugin => plugin.decorations
    }),
    columnWidths,
    told.map(({ column }) =>
      column
        ? gutter({ class: `jp-hipkittens-Isa${column}`, lineMarker: rowMarker(markerOf(column, shown)) })
        : []
    ),
    listing.waits?.length ? arrowGutter : [],
    foldGutter()
  ];
}

/** Colours of what is in view: mnemonics by class, headings, and the difference. */
class RowDecorations {
  decorations: DecorationSet;

  constructor(
    view: EditorView,
    private readonly doc: IDocument,
    private readonly listing: IListing,
    private readonly colours: ReadonlyMap<number, number>
  ) {
    this.decorations = this.build(view);
  }

  update(update: { view: EditorView; viewportChanged: boolean; docChanged: boolean }): void {
    if (update.viewportChanged || update.docChanged) {
      this.decorations = this.build(update.view);
    }
  }

  private build(view: EditorView): DecorationSet {
    const builder = new RangeSetBuilder<Decoration>();
    for (const { from, to } of view.visibleRanges) {
      for (let position = from; position <= to; ) {
        const row = view.state.doc.lineAt(position);
        const line = this.doc.lines[row.number - 1];
        if (line?.kind === 'removed') {
          builder.add(row.from, row.from, removedRow);
        } else if (line?.kind === 'block' || line?.kind === 'loop') {
          builder.add(row.from, row.from, headingRow);
        } else if (line) {
          if (line.added || line.renamed) {
            builder.add(row.from, row.from, line.added ? addedRow : renamedRow);
          }
          const colour = this.colours.get(this.listing.lines[line.row]);
          if (colour !== undefined) {
            builder.add(row.from, row.from, colouredLine(colour));
          }
          if (this.listing.counts && !this.listing.counts[line.row]) {
            builder.add(row.from, row.from, neverRow);
          }
          const end = row.text.indexOf(' ');
          const kind = this.listing.classes[line.row].replace(/_.*/, '');
          builder.add(
            row.from,
            end < 0 ? row.to : row.from + end,
            Decoration.mark({ class: `jp-hipkittens-op jp-hipkittens-op-${kind}` })
          );
        }
        position = row.to + 1;
      }
    }
    return builder.finish();
  }
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
    this.toolbar.addClass('jp-hipkittens-IsaToolbar');
    layout.addWidget(this.toolbar);
    this.status.addClass('jp-hipkittens-IsaStatus');
    this.status.node.setAttribute('role', 'status');
    // Beside the status: in a narrow panel the toolbar has no room for it.
    const row = new Row();
    row.addClass('jp-hipkittens-IsaRow');
    row.addWidget(this.status);
    row.addWidget(this.findBox());
    layout.addWidget(row);
    this.body.addClass('jp-hipkittens-IsaBody');
    layout.addWidget(this.body);
    this.buildToolbar();
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
          this.wrapping.of([]),
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

  readonly toolbar = new Toolbar();

  /** Follows a notebook that got another name. */
  renamed(path: string): void {
    this.target.path = path;
  }

  /** Connects to the notebook that the code is of; asks its kernel. */
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

  /** Shows the columns that the user wants, as far as there is room for them beside the instructions. */
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
    const { columns, wraps } = roomFor(width, em, wanted);
    const effects: StateEffect<unknown>[] = [];
    if (columns.join() !== this.columns.join()) {
      this.columns = columns;
      effects.push(this.content.reconfigure(decorate(this.shown, columns)));
    }
    if (wraps !== this.wraps) {
      this.wraps = wraps;
      effects.push(this.wrapping.reconfigure(wraps ? EditorView.lineWrapping : []));
    }
    if (effects.length) {
      this.view.dispatch({ effects });
    }
    this.noRoom = wanted.filter(name => !columns.includes(name));
    this.boxes.forEach(update => update());
  }

  private buildToolbar(): void {
    const select = document.createElement('select');
    select.className = 'jp-hipkittens-Select';
    select.setAttribute('aria-label', this.trans.__('Kernel'));
    select.addEventListener('change', () => this.choose(select.value));
    this.kernels = select;
    const holder = new Widget({ node: document.createElement('div') });
    holder.node.append(select);
    this.toolbar.addItem('kernel', holder);
    const measures = document.createElement('select');
    measures.className = 'jp-hipkittens-Select';
    measures.setAttribute('aria-label', this.trans.__('Measure'));
    measures.addEventListener('change', () => {
      this.measure = measures.value;
      this.render();
    });
    this.measures = measures;
    const measureHolder = new Widget({ node: document.createElement('div') });
    measureHolder.node.append(measures);
    this.toolbar.addItem('measure', measureHolder);
    this.toolbar.addItem(
      'fold',
      new ToolbarButton({
        label: this.trans.__('Fold'),
        tooltip: this.trans.__('Fold all blocks and loops'),
        onClick: () => foldAll(this.view)
      })
    );
    this.toolbar.addItem(
      'unfold',
      new ToolbarButton({
        label: this.trans.__('Unfold'),
        tooltip: this.trans.__('Unfold everything'),
        onClick: () => unfoldAll(this.view)
      })
    );
    this.compare = new ToolbarButton({
      label: this.trans.__('Compare'),
      tooltip: this.trans.__('Show what changed since the previous compile of the cell'),
      onClick: () => {
        this.comparing = !this.comparing;
        this.render();
        this.goToChange();
      }
    });
    this.toolbar.addItem('compare', this.compare);
    this.waves = new ToolbarButton({
      label: this.trans.__('Timeline'),
      tooltip: this.trans.__('Show what the waves of the last profile did, above the instructions'),
      onClick: () => this.toggleTimeline()
    });
    this.toolbar.addItem('timeline', this.waves);
    this.toolbar.addItem('columns', this.columnsMenu());
  }

  /** Which columns stand beside the instructions, and whether these have their line's colour. */
  private columnsMenu(): Widget {
    const menu = document.createElement('details');
    menu.className = 'jp-hipkittens-Columns';
    const summary = document.createElement('summary');
    summary.textContent = this.trans.__('Columns');
    summary.title = this.trans.__('Show or hide what stands beside the instructions');
    const list = document.createElement('div');
    const box = (label: string, isOn: () => boolean, set: (on: boolean) => void, note = () => '') => {
      const input = document.createElement('input');
      input.type = 'checkbox';
      input.addEventListener('change', () => set(input.checked));
      const said = document.createElement('span');
      said.className = 'jp-hipkittens-Dim';
      this.boxes.push(() => {
        input.checked = isOn();
        said.textContent = note();
      });
      const line = document.createElement('label');
      line.append(input, label, said);
      list.append(line);
    };
    const labels: [ColumnName, string][] = [
      ['Address', this.trans.__('address')],
      ['Count', this.trans.__('executed')],
      ['Cost', this.trans.__('cost')],
      ['Pressure', this.trans.__('live registers')],
      ['Source', this.trans.__('line')]
    ];
    for (const [name, label] of labels) {
      const others = () => this.preferences.isaHidden.filter(one => one !== name);
      box(
        label,
        () => others().length === this.preferences.isaHidden.length,
        on => void this.preferences.set('isaHidden', on ? others() : [...others(), name]),
        () => (this.noRoom.includes(name) ? this.trans.__('no room') : '')
      );
    }
    box(
      this.trans.__('colours of lines'),
      () => this.preferences.isaColours,
      on => void this.preferences.set('isaColours', on)
    );
    menu.append(summary, list);
    menu.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        menu.open = false;
        summary.focus();
      }
    });
    menu.addEventListener('focusout', event => {
      if (event.relatedTarget && !menu.contains(event.relatedTarget as Node)) {
        menu.open = false;
      }
    });
    const holder = new Widget({ node: document.createElement('div') });
    holder.node.append(menu);
    return holder;
  }

  /** Shows what the settings say. */
  private follow(): void {
    this.boxes.forEach(update => update());
    this.makeRoom();
    this.view.requestMeasure();
    if (this.coloursWere !== this.preferences.isaColours) {
      this.coloursWere = this.preferences.isaColours;
      this.render();
    }
  }

  private findBox(): Widget {
    const find = document.createElement('input');
    find.type = 'search';
    find.className = 'jp-hipkittens-Find';
    find.placeholder = this.trans.__('Find');
    find.setAttribute('aria-label', this.trans.__('Find an instruction'));
    find.addEventListener('keydown', event => {
      if (event.key === 'Enter') {
        this.find(find.value, event.shiftKey ? -1 : 1);
      }
    });
    const holder = new Widget({ node: document.createElement('div') });
    holder.node.append(find);
    return holder;
  }

  /** Goes to the first difference to the previous compile; registers that are only named anew are none. */
  private goToChange(): void {
    const lines = this.shown?.document.lines ?? [];
    const at = lines.findIndex(line => line.kind === 'removed' || (line.kind === 'code' && line.added));
    if (this.comparing && at >= 0) {
      const from = this.view.state.doc.line(at + 1).from;
      this.view.dispatch({ effects: EditorView.scrollIntoView(from, { y: 'center' }) });
    }
  }

  /** Goes to the next instruction with a text, around the end. */
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
    this.waves.pressed = this.timeline !== null;
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
    this.measures.hidden = column === null;
    this.measures.title = column?.doc ?? '';
    this.measures.replaceChildren(
      ...(listing.measures ?? []).map(
        one => new Option(`${one.label} (${one.origin})`, one.key, false, one.key === column?.key)
      )
    );
    this.kernels.replaceChildren(
      ...reply.kernels.map(name => new Option(name, name, false, name === listing.kernel))
    );
    this.compare.enabled = previous !== null;
    this.compare.pressed = this.comparing;
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

  /** Whether lines of the document are all seen. To scroll costs more than all else, and rows that stay are followed. */
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
  private readonly wrapping = new Compartment();
  private wraps = false;
  private columns: ColumnName[] = COLUMNS.map(([name]) => name);
  private noRoom: ColumnName[] = [];
  private kernels!: HTMLSelectElement;
  private measures!: HTMLSelectElement;
  private measure = '';
  private compare!: ToolbarButton;
  private readonly boxes: (() => void)[] = [];
  private coloursWere = true;
  private coloured: CellRecord | null = null;
  private comparing = false;
  private waves!: ToolbarButton;
  private timeline: SimplifiedOutputArea | null = null;
  private panel: NotebookPanel | null = null;
  private line: KernelLine | null = null;
  private reply: IIsaReply | null = null;
  private shown: IShown | null = null;
  private row = -1;
  private request = 0;
  private pointed = 0;
}
