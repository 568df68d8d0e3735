/**
 * The workbench sidebar: device, compiler, actions on the current cell, kernels of the notebook, run history.
 */

import { ReactWidget, UseSignal } from '@jupyterlab/apputils';
import type { ICellModel, ICodeCellModel } from '@jupyterlab/cells';
import { NotebookActions, type INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { bugIcon, checkIcon, runIcon, type LabIcon } from '@jupyterlab/ui-components';
import { CommandRegistry } from '@lumino/commands';
import { Signal, type ISignal } from '@lumino/signaling';
import * as React from 'react';

import { compiledCells, recordOf, type NotebookWatcher } from './cells';
import { CommandIDs } from './commands';
import { bytes, clock, plain } from './format';
import type { IHistoryEntry, RunHistory } from './history';
import { dashboardIcon, isaIcon, profileIcon } from './icons';
import { NotLoaded, kernelLine, type IKernelState, type IProgress, type KernelLine } from './kernel';
import { chosenMeasure, shares } from './heat';
import { isCurrent, type ICellPayload, type IHeat, type IKernel, type Origin } from './payload';
import type { Preferences } from './preferences';
import { describeReference, referenceOf } from './reference';
import { standing } from './standing';
import type { ITutorial } from './tutorials';

/**
 * What the sidebar shows: follows the current notebook, its kernel and its cells.
 */
export class WorkbenchModel {
  constructor(
    tracker: INotebookTracker,
    readonly history: RunHistory,
    readonly preferences: Preferences,
    private readonly watcherOf: (panel: NotebookPanel) => NotebookWatcher
  ) {
    tracker.currentChanged.connect((_, panel) => this.setPanel(panel));
    tracker.activeCellChanged.connect((_, cell) => this.setCell(cell?.model ?? null));
    NotebookActions.executed.connect((_, { notebook, cell }) => {
      // A kernel that just loaded the workbench can be asked from now on.
      if (
        notebook === this._panel?.content &&
        !this.line?.isOpen &&
        mentions(cell.model.sharedModel.getSource())
      ) {
        this.refresh();
      }
    });
    history.changed.connect(() => this._changed.emit());
    preferences.changed.connect(() => this._changed.emit());
    this.setPanel(tracker.currentWidget);
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get panel(): NotebookPanel | null {
    return this._panel;
  }

  /** What the kernel says of itself, null where it has no workbench. */
  get state(): IKernelState | null {
    return this._state;
  }

  get payloads(): ICellPayload[] {
    return compiledCells(this._panel?.content.model).map(cell => cell.payload as ICellPayload);
  }

  /** Of the current cell, else of the last one that was profiled. */
  get heat(): IHeat | null {
    const cells = compiledCells(this._panel?.content.model).filter(cell => cell.payload?.heat);
    const active = this._panel?.content.activeCell?.model;
    return (cells.find(cell => cell.model === active) ?? cells.pop())?.payload?.heat ?? null;
  }

  /** Follows the current cell: a run that begins, and the edit that makes its result one of other text. */
  private setCell(cell: ICellModel | null): void {
    this.cell?.contentChanged.disconnect(this.onEdit, this);
    this.cell?.stateChanged.disconnect(this.onState, this);
    this.cell = cell;
    cell?.contentChanged.connect(this.onEdit, this);
    cell?.stateChanged.connect(this.onState, this);
    this.edited = false;
    this._changed.emit();
  }

  private onEdit(cell: ICellModel): void {
    const payload = recordOf(cell)?.payload;
    const edited = !!payload && !isCurrent(payload, cell.sharedModel.getSource());
    if (edited !== this.edited) {
      this.edited = edited;
      this._changed.emit();
    }
  }

  private onState(_: ICellModel, change: { name: string }): void {
    if (change.name === 'executionState') {
      this._changed.emit();
    }
  }

  private setPanel(panel: NotebookPanel | null): void {
    if (panel === this._panel) {
      return;
    }
    this.line?.changed.disconnect(this.refresh, this);
    this.line?.went.disconnect(this.onProgress, this);
    this.watcher?.changed.disconnect(this.onCell, this);
    this._panel = panel;
    this._state = null;
    this.line = panel ? kernelLine(panel.sessionContext) : null;
    this.watcher = panel ? this.watcherOf(panel) : null;
    this.line?.changed.connect(this.refresh, this);
    this.line?.went.connect(this.onProgress, this);
    this.watcher?.changed.connect(this.onCell, this);
    this._changed.emit();
    void panel?.context.ready.then(() => this.refresh());
  }

  private onCell(): void {
    this._changed.emit();
    // A result means that the kernel has the workbench now.
    if (!this.line?.isOpen) {
      this.refresh();
    }
  }

  /** Of the launch or sweep that is under way. */
  get progress(): IProgress | null {
    return this.line?.progress ?? null;
  }

  /** Whether the current notebook has anything to do with the workbench. */
  get mentionsUs(): boolean {
    const cells = this._panel?.content.model?.cells;
    return [...(cells ?? [])].some(cell => mentions(cell.sharedModel.getSource()));
  }

  private onProgress(): void {
    this._changed.emit();
  }

  /** The latest runs of all notebooks of the folder, newest first; none where the kernel has no workbench. */
  async folderRuns(): Promise<IHistoryEntry[]> {
    try {
      const reply = await this.line?.ask<{ runs: IHistoryEntry[] }>('runs', { folder: true });
      return [...(reply?.runs ?? [])].reverse();
    } catch {
      return [];
    }
  }

  /** This notebook's runs in the folder's file, where the browser has forgotten its own: after a reset, on another computer. */
  private restore(line: KernelLine): void {
    const path = this._panel?.context.path ?? '';
    if (path && !this.history.of(path).length) {
      line
        .ask<{ runs: IHistoryEntry[] }>('runs')
        .then(({ runs }) => this.history.addAll(path, runs))
        .catch(() => undefined);
    }
  }

  private refresh(): void {
    const line = this.line;
    const cells = this._panel?.content.model?.cells;
    // Asking a kernel without the workbench leaves a line in its log: other notebooks are left alone.
    if (!line || ![...(cells ?? [])].some(cell => mentions(cell.sharedModel.getSource()))) {
      return;
    }
    line
      .ask<IKernelState>('state')
      .then(state => {
        if (line === this.line) {
          this._state = state;
          this._changed.emit();
          this.restore(line);
        }
      })
      .catch(error => {
        if (line === this.line && error instanceof NotLoaded) {
          this._state = null;
          this._changed.emit();
        }
      });
  }

  private cell: ICellModel | null = null;
  /** Whether the current cell's text is another than the one that ran. */
  private edited = false;
  private _panel: NotebookPanel | null = null;
  private _state: IKernelState | null = null;
  private line: KernelLine | null = null;
  private watcher: NotebookWatcher | null = null;
  private _changed = new Signal<this, void>(this);
}

function mentions(source: string): boolean {
  return /^%%hipkittens|^\s*%(?:re)?load_ext\s+workbench|^\s*(?:import|from)\s+workbench/m.test(source);
}

export class Sidebar extends ReactWidget {
  constructor(
    private readonly model: WorkbenchModel,
    private readonly commands: CommandRegistry,
    private readonly trans: TranslationBundle,
    private readonly tutorials: () => Promise<ITutorial[]>
  ) {
    super();
    this.addClass('jp-hipkittens-Sidebar');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('HipKittens workbench'));
  }

  protected render(): JSX.Element {
    return (
      <UseSignal signal={this.model.changed}>
        {() => (
          <Contents
            model={this.model}
            commands={this.commands}
            trans={this.trans}
            tutorials={this.tutorials}
          />
        )}
      </UseSignal>
    );
  }
}

interface IProps {
  model: WorkbenchModel;
  commands: CommandRegistry;
  trans: TranslationBundle;
}

function Contents(props: IProps & { tutorials: () => Promise<ITutorial[]> }): JSX.Element {
  const { model, trans } = props;
  if (!model.panel) {
    return (
      <>
        <Welcome {...props} />
        <p className="jp-hipkittens-Hint">{trans.__('Open a notebook to see its kernels here.')}</p>
        <Tutorials {...props} />
      </>
    );
  }
  return (
    <>
      <DeviceSection {...props} />
      <Welcome {...props} />
      <ProgressLine {...props} />
      <Actions {...props} />
      <HeatSwitch {...props} />
      <Kernels {...props} />
      <History {...props} />
    </>
  );
}

/** The tutorials by their titles. */
function Tutorials(props: IProps & { tutorials: () => Promise<ITutorial[]> }): JSX.Element {
  const { commands, trans, tutorials } = props;
  const [all, setAll] = React.useState<readonly ITutorial[]>([]);
  React.useEffect(() => void tutorials().then(setAll), [tutorials]);
  return (
    <Section title={trans.__('Tutorials')}>
      {all.length === 0 && (
        <p className="jp-hipkittens-Hint">
          {trans.__('They are not in this folder, but in the folder notebooks of the HipKittens workbench.')}
        </p>
      )}
      <ul className="jp-hipkittens-List">
        {all.map(({ path, title }) => (
          <li key={path}>
            <button
              className="jp-hipkittens-Link"
              title={path}
              onClick={() => void commands.execute('docmanager:open', { path })}
            >
              {title}
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** What is where, until one has read it. */
function Welcome({ model, trans }: IProps): JSX.Element | null {
  if (!model.preferences.isReady || !model.preferences.welcome) {
    return null;
  }
  return (
    <Section title={trans.__('What is where')}>
      <ul className="jp-hipkittens-Welcome">
        <li>
          {trans.__('Cells that start with')} <code>%%hipkittens NAME</code>{' '}
          {trans.__('compile C++; the buttons below run, verify, profile and sanitize them.')}
        </li>
        <li>{trans.__('Profiled lines show their heat; ISA opens the machine code beside them.')}</li>
        <li>
          {trans.__('The dashboard shows every run, what limits it, and what changed since a baseline.')}
        </li>
      </ul>
      <button
        className="jp-Button jp-mod-styled jp-mod-minimal"
        onClick={() => void model.preferences.set('welcome', false)}
      >
        {trans.__('Got it')}
      </button>
    </Section>
  );
}

/** How far a launch or a sweep is. */
function ProgressLine({ model, trans }: IProps): JSX.Element | null {
  const progress = model.progress;
  if (!progress) {
    return null;
  }
  const { name, done, total, left } = progress;
  const text = trans.__('%1: %2 of %3', name, done.toLocaleString('en-US'), total.toLocaleString('en-US'));
  return (
    <div className="jp-hipkittens-Progress" role="status">
      {text}
      {left !== null && `, ${trans.__('%1 s left', Math.ceil(left))}`}
      <progress value={done} max={total} aria-label={text} />
    </div>
  );
}

function Section(props: { title: string; children: React.ReactNode }): JSX.Element {
  return (
    <section aria-label={props.title}>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  );
}

/** Where a figure comes from, beside it; its provenance shows under the pointer. */
export function Badge({
  origin,
  provenance
}: {
  origin: Origin | '';
  provenance?: string;
}): JSX.Element | null {
  return origin ? (
    <span className={`jp-hipkittens-Badge jp-hipkittens-Badge-${origin}`} title={provenance}>
      {origin}
    </span>
  ) : null;
}

function DeviceSection({ model, trans }: IProps): JSX.Element {
  const { state, payloads } = model;
  const latest = payloads[payloads.length - 1];
  const used = state?.devices.find(one => one.default);
  const device = used ?? latest?.device ?? null;
  const compiler = state?.compiler?.version ?? latest?.compile?.compiler ?? '';
  const memory =
    device && device.memory_total
      ? trans.__('%1 of %2 used', bytes(device.memory_used), bytes(device.memory_total))
      : '';
  const limit = used?.memory_limit ?? 0;
  return (
    <Section title={trans.__('Device')}>
      {state === null && (
        <p className="jp-hipkittens-Hint">
          {trans.__('The workbench is not loaded in this kernel. Run')} <code>%load_ext workbench</code>.
        </p>
      )}
      {state && !device && <p className="jp-hipkittens-Hint">{trans.__('No device has been used yet.')}</p>}
      {(device || compiler) && (
        <dl>
          {device && (
            <>
              <dt>{trans.__('Device')}</dt>
              <dd>
                {device.label} <Badge origin={used?.origin ?? latest?.origin ?? ''} />
              </dd>
              <dt>{trans.__('Name')}</dt>
              <dd>
                <code>{device.name}</code>
              </dd>
            </>
          )}
          {memory && (
            <>
              <dt>{trans.__('Memory')}</dt>
              <dd>
                {memory}
                {limit > 0 && (
                  <div className="jp-hipkittens-Dim">
                    {trans.__('emulated: up to %1 of this computer', bytes(limit))}
                  </div>
                )}
              </dd>
            </>
          )}
          {compiler && (
            <>
              <dt>{trans.__('Compiler')}</dt>
              <dd title={state?.compiler?.reason}>{compiler}</dd>
            </>
          )}
        </dl>
      )}
    </Section>
  );
}

function Actions({ commands, model, trans }: IProps): JSX.Element {
  // The registry knows what can be done now; the model's signal says when to ask again.
  const buttons: [string, string, LabIcon][] = [
    [CommandIDs.run, trans.__('Run'), runIcon],
    [CommandIDs.verify, trans.__('Verify'), checkIcon],
    [CommandIDs.profile, trans.__('Profile'), profileIcon],
    [CommandIDs.sanitize, trans.__('Sanitize'), bugIcon],
    [CommandIDs.isa, trans.__('ISA'), isaIcon],
    [CommandIDs.dashboard, trans.__('Dashboard'), dashboardIcon]
  ];
  const cell = model.panel?.content.activeCell?.model;
  const source = cell?.sharedModel.getSource() ?? '';
  const running = (cell as ICodeCellModel | undefined)?.executionState === 'running';
  const name = source.match(/^%%hipkittens[ \t]+(\w+)/)?.[1];
  const kept = cell && name ? referenceOf(cell) : null;
  return (
    <Section title={name ? trans.__('Cell %1', name) : trans.__('Current cell')}>
      <div
        className="jp-hipkittens-Actions"
        role="group"
        aria-label={trans.__('Actions on the current cell')}
      >
        {buttons.map(([id, label, icon]) => (
          <button
            key={id}
            className="jp-Button jp-mod-styled jp-mod-minimal"
            disabled={!commands.isEnabled(id)}
            title={withKeys(commands, id)}
            onClick={() => void commands.execute(id)}
          >
            <icon.react tag="span" aria-hidden="true" />
            {label}
          </button>
        ))}
      </div>
      {kept && (
        <p className="jp-hipkittens-Hint">
          {standing(recordOf(cell!)?.payload ?? null, source, running, trans)}{' '}
          <code>{describeReference(kept)}</code>{' '}
          <button
            className="jp-hipkittens-Link"
            title={commands.caption(CommandIDs.reference)}
            onClick={() => void commands.execute(CommandIDs.reference)}
          >
            {trans.__('Change…')}
          </button>
        </p>
      )}
      {!name && (
        <p className="jp-hipkittens-Hint">
          {trans.__('The current cell is not a HipKittens cell: those start with')}{' '}
          <code>%%hipkittens NAME</code>.
        </p>
      )}
    </Section>
  );
}

/** A command's caption with its keyboard shortcut. */
function withKeys(commands: CommandRegistry, id: string): string {
  const keys = commands.keyBindings.find(binding => binding.command === id)?.keys;
  return keys ? `${commands.caption(id)} (${CommandRegistry.formatKeystroke(keys)})` : commands.caption(id);
}

function HeatSwitch({ model, trans }: IProps): JSX.Element | null {
  const heat = model.heat;
  if (!heat) {
    return null;
  }
  const { preferences } = model;
  const shown = chosenMeasure(heat, preferences.heatMeasure);
  return (
    <Section title={trans.__('Line heat')}>
      <select
        className="jp-hipkittens-Select"
        aria-label={trans.__('Measure of the line heat')}
        value={preferences.lineHeat ? shown.key : ''}
        onChange={event => {
          const measure = event.target.value;
          void preferences
            .set('lineHeat', measure !== '')
            .then(() => (measure ? preferences.set('heatMeasure', measure) : undefined));
        }}
      >
        {heat.measures.map(measure => (
          <option key={measure.key} value={measure.key}>
            {measure.label} ({measure.origin}){shares(heat, measure.key).size ? '' : `: ${trans.__('none')}`}
          </option>
        ))}
        <option value="">{trans.__('off')}</option>
      </select>
      {preferences.lineHeat && (
        <p className="jp-hipkittens-Hint" aria-live="polite">
          {plain(shown.doc || heat.note)}
        </p>
      )}
    </Section>
  );
}

/**
 * The kernels of a notebook by module: of cells as their results tell, which know what changed, and of other
 * variables as the notebook's kernel tells.
 */
export function kernelsOf(
  payloads: readonly ICellPayload[],
  state: IKernelState | null
): { module: string; kernels: readonly IKernel[] }[] {
  const found = new Map<string, readonly IKernel[]>();
  for (const payload of payloads) {
    if (payload.kernels.length) {
      found.set(payload.name, payload.kernels);
    }
  }
  for (const module of state?.modules ?? []) {
    if (!found.has(module.name) && module.kernels.length) {
      found.set(
        module.name,
        module.kernels.map(kernel => ({ ...kernel, changes: [] }))
      );
    }
  }
  return [...found].map(([module, kernels]) => ({ module, kernels }));
}

function Kernels({ model, commands, trans }: IProps): JSX.Element {
  const modules = kernelsOf(model.payloads, model.state);
  return (
    <Section title={trans.__('Kernels')}>
      {modules.length === 0 && <p className="jp-hipkittens-Hint">{trans.__('None compiled yet.')}</p>}
      <ul className="jp-hipkittens-List">
        {modules.map(({ module, kernels }) =>
          kernels.map(kernel => (
            <li key={`${module}/${kernel.name}`}>
              <button
                className="jp-hipkittens-Link"
                title={trans.__('Show the machine code of %1', kernel.signature || kernel.name)}
                onClick={() => void commands.execute(CommandIDs.isa, { module, kernel: kernel.name })}
              >
                {module}
                {' › '}
                {kernel.name}
              </button>
              <ResourceLine kernel={kernel} trans={trans} />
              {kernel.changes.map(change => (
                <div key={change} className="jp-hipkittens-Change">
                  {change}
                </div>
              ))}
            </li>
          ))
        )}
      </ul>
    </Section>
  );
}

function ResourceLine({ kernel, trans }: { kernel: IKernel; trans: TranslationBundle }): JSX.Element | null {
  const r = kernel.resources;
  if (!r) {
    return null;
  }
  const parts = [
    `${r.vgpr} VGPR`,
    r.agpr ? `${r.agpr} AGPR` : '',
    `${r.sgpr} SGPR`,
    r.lds ? `${bytes(r.lds)} LDS` : '',
    r.scratch ? `${bytes(r.scratch)} scratch` : '',
    r.spills ? trans.__('%1 spills', r.spills) : ''
  ].filter(Boolean);
  const limit = r.limited_by ? ` (${r.limited_by})` : '';
  return (
    <div className={r.spills || r.scratch ? 'jp-hipkittens-Warn' : 'jp-hipkittens-Dim'}>
      {parts.join(' · ')}
      <br />
      {trans.__('%1 waves a SIMD', r.occupancy)}
      {limit}
    </div>
  );
}

/** Entries that are shown until one asks for the others. */
const SHOWN = 50;

function History({ model, commands, trans }: IProps): JSX.Element {
  const own = model.history.of(model.panel?.context.path ?? '');
  const [all, setAll] = React.useState(false);
  const [ofFolder, setOfFolder] = React.useState(false);
  const [folder, setFolder] = React.useState<readonly IHistoryEntry[]>([]);
  const latest = own[0]?.at;
  React.useEffect(() => {
    let wanted = ofFolder;
    if (wanted) {
      void model.folderRuns().then(runs => wanted && setFolder(runs));
    }
    return () => {
      wanted = false;
    };
  }, [ofFolder, latest, model.panel]);
  const entries = ofFolder ? folder : own;
  const shown = all ? entries : entries.slice(0, SHOWN);
  return (
    <Section title={trans.__('Runs')}>
      <select
        className="jp-hipkittens-Select"
        aria-label={trans.__('Whose runs are listed')}
        value={ofFolder ? 'folder' : 'notebook'}
        onChange={event => setOfFolder(event.target.value === 'folder')}
      >
        <option value="notebook">{trans.__('of this notebook')}</option>
        <option value="folder">{trans.__('of all notebooks of its folder')}</option>
      </select>
      {entries.length === 0 ? (
        <p className="jp-hipkittens-Hint">{trans.__('No runs yet.')}</p>
      ) : (
        <>
          <ol className="jp-hipkittens-List" aria-label={trans.__('Run history, newest first')}>
            {shown.map(entry => (
              <HistoryItem
                key={`${entry.module}${entry.at}${entry.kind}`}
                entry={entry}
                notebook={ofFolder ? (entry.notebook ?? '') : ''}
                trans={trans}
              />
            ))}
          </ol>
          {entries.length > SHOWN && (
            <button
              className="jp-hipkittens-Link jp-hipkittens-More"
              aria-expanded={all}
              onClick={() => setAll(!all)}
            >
              {all ? trans.__('Show the latest %1', SHOWN) : trans.__('Show all %1', entries.length)}
            </button>
          )}
          {!ofFolder && (
            <button
              className="jp-hipkittens-Link"
              onClick={() => void commands.execute(CommandIDs.clearHistory)}
            >
              {trans.__('Clear the history')}
            </button>
          )}
        </>
      )}
    </Section>
  );
}

function HistoryItem(props: {
  entry: IHistoryEntry;
  /** File name of its notebook, where runs of several are listed. */
  notebook: string;
  trans: TranslationBundle;
}): JSX.Element {
  const { entry, notebook, trans } = props;
  const when = new Date(entry.at);
  const verdict =
    entry.error !== ''
      ? 'failed'
      : entry.verified === true
        ? 'verified'
        : entry.verified === false
          ? 'wrong'
          : '';
  const mark = { failed: '✗', wrong: '✗', verified: '✓', '': '' }[verdict];
  return (
    <li title={entry.error || undefined}>
      <div className="jp-hipkittens-Run">
        <time dateTime={entry.at}>{isNaN(when.getTime()) ? '' : clock(when)}</time>
        <span>
          {entry.kind} <b>{entry.module}</b>
        </span>
        {verdict && (
          <span className={`jp-hipkittens-Verdict-${verdict}`}>
            {mark} {trans.__(verdict)}
          </span>
        )}
        {entry.findings !== undefined && (
          <span className={`jp-hipkittens-Verdict-${entry.findings ? 'wrong' : 'verified'}`}>
            {entry.findings
              ? `✗ ${trans._n('%1 finding', '%1 findings', entry.findings, entry.findings)}`
              : `✓ ${trans.__('nothing found')}`}
          </span>
        )}
        {entry.time && (
          <span>
            {entry.time.value.toPrecision(4)} {entry.time.unit}{' '}
            <Badge origin={entry.time.origin} provenance={entry.time.provenance} />
          </span>
        )}
      </div>
      {notebook && <div className="jp-hipkittens-Dim">{notebook}</div>}
      {entry.error && <div className="jp-hipkittens-Warn">{entry.error}</div>}
      {entry.changes.map(change => (
        <div key={change} className="jp-hipkittens-Change">
          {change}
        </div>
      ))}
    </li>
  );
}
