/**
 * State of each code cell, kept beside its model and never in it.
 *
 * A cell's outputs are the one place where a result arrives: from a run, from a collaborator, from the file.
 * A record follows them; editors that come and go (the notebook drops those out of view) listen to the record.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { ICellModel, ICodeCellModel } from '@jupyterlab/cells';
import type { INotebookModel, NotebookPanel } from '@jupyterlab/notebook';
import type { CodeEditor } from '@jupyterlab/codeeditor';
import { Signal, type ISignal } from '@lumino/signaling';

import { hasKernels } from './magic';
import { MIME_TYPE, parsePayload, type ICellPayload } from './payload';

export class CellRecord {
  constructor(readonly model: ICodeCellModel) {
    model.outputs.changed.connect(this.refresh, this);
    this.refresh();
  }

  /** The session of the cell's notebook; null until the notebook is ready. */
  session: ISessionContext | null = null;

  /** The latest result in the cell's outputs. */
  get payload(): ICellPayload | null {
    return this._payload;
  }

  /** Emitted when the result appears, changes or disappears. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  private refresh(): void {
    const outputs = this.model.outputs;
    let data: unknown = null;
    for (let i = outputs.length - 1; i >= 0 && data === null; i--) {
      data = outputs.get(i).data[MIME_TYPE] ?? null;
    }
    if (data === this._data) {
      return;
    }
    this._data = data;
    this._payload = parsePayload(data);
    this._changed.emit();
  }

  private _data: unknown = null;
  private _payload: ICellPayload | null = null;
  private _changed = new Signal<this, void>(this);
}

const records = new WeakMap<object, CellRecord>();

/**
 * The record of an editor's model; null where the editor is not a code cell's.
 */
export function recordOf(model: CodeEditor.IModel | ICellModel): CellRecord | null {
  const cell = model as Partial<ICodeCellModel>;
  if (cell.type !== 'code' || !cell.outputs) {
    return null;
  }
  let record = records.get(model);
  if (!record) {
    record = new CellRecord(model as ICodeCellModel);
    records.set(model, record);
  }
  return record;
}

/**
 * The cells of a notebook that have kernels and a result, from top to bottom.
 */
export function compiledCells(notebook: INotebookModel | null | undefined): CellRecord[] {
  const found: CellRecord[] = [];
  for (const cell of notebook?.cells ?? []) {
    const record = hasKernels(cell.sharedModel.getSource()) ? recordOf(cell) : null;
    if (record?.payload) {
      found.push(record);
    }
  }
  return found;
}

/**
 * Emits whenever a result in a notebook appears, changes or disappears; disposed with the notebook's panel.
 */
export class NotebookWatcher {
  constructor(panel: NotebookPanel) {
    this.panel = panel;
    void panel.context.ready.then(() => {
      const cells = panel.content.model?.cells;
      if (!cells || panel.isDisposed) {
        return;
      }
      cells.changed.connect(this.watch, this);
      this.watch();
    });
    panel.disposed.connect(() => {
      Signal.clearData(this);
    });
  }

  readonly panel: NotebookPanel;

  get changed(): ISignal<this, CellRecord | null> {
    return this._changed;
  }

  private watch(): void {
    for (const cell of this.panel.content.model?.cells ?? []) {
      const record = recordOf(cell);
      if (record) {
        record.session = this.panel.sessionContext;
        // Lumino keeps a connection once, however often it is made.
        record.changed.connect(this.forward, this);
      }
    }
    this._changed.emit(null);
  }

  private forward(record: CellRecord): void {
    this._changed.emit(record);
  }

  private _changed = new Signal<this, CellRecord | null>(this);
}
