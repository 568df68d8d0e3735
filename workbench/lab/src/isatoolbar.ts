/**
 * The toolbar of the ISA view, and the box that finds an instruction.
 */

import { Toolbar, ToolbarButton } from '@jupyterlab/ui-components';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import type { ColumnName } from './isa';
import type { Preferences } from './preferences';

/** Actions of the toolbar's parts. */
export interface IIsaActs {
  choose(kernel: string): void;
  measure(key: string): void;
  fold(): void;
  unfold(): void;
  compare(): void;
  timeline(): void;
}

export class IsaToolbar extends Toolbar {
  constructor(acts: IIsaActs, preferences: Preferences, trans: TranslationBundle) {
    super();
    this.addClass('jp-hipkittens-IsaToolbar');
    const select = document.createElement('select');
    select.className = 'jp-hipkittens-Select';
    select.setAttribute('aria-label', trans.__('Kernel'));
    select.addEventListener('change', () => acts.choose(select.value));
    this.kernels = select;
    const holder = new Widget({ node: document.createElement('div') });
    holder.node.append(select);
    this.addItem('kernel', holder);
    const measures = document.createElement('select');
    measures.className = 'jp-hipkittens-Select';
    measures.setAttribute('aria-label', trans.__('Measure'));
    measures.addEventListener('change', () => {
      acts.measure(measures.value);
    });
    this.measures = measures;
    const measureHolder = new Widget({ node: document.createElement('div') });
    measureHolder.node.append(measures);
    this.addItem('measure', measureHolder);
    this.addItem(
      'fold',
      new ToolbarButton({
        label: trans.__('Fold'),
        tooltip: trans.__('Fold all blocks and loops'),
        onClick: () => acts.fold()
      })
    );
    this.addItem(
      'unfold',
      new ToolbarButton({
        label: trans.__('Unfold'),
        tooltip: trans.__('Unfold everything'),
        onClick: () => acts.unfold()
      })
    );
    this.compare = new ToolbarButton({
      label: trans.__('Compare'),
      tooltip: trans.__('Show what changed since the previous compile of the cell'),
      onClick: () => acts.compare()
    });
    this.addItem('compare', this.compare);
    this.waves = new ToolbarButton({
      label: trans.__('Timeline'),
      tooltip: trans.__('Show what the waves of the last profile did, above the instructions'),
      onClick: () => acts.timeline()
    });
    this.addItem('timeline', this.waves);
    this.addItem('columns', this.columnsMenu(preferences, trans));
  }

  /** Selected columns for which there is no room. */
  noRoom: readonly ColumnName[] = [];

  /** Shows in the columns' menu what the settings say. */
  refresh(): void {
    this.boxes.forEach(update => update());
  }

  /** The columns beside the instructions, and whether these have their line's colour. */
  private columnsMenu(preferences: Preferences, trans: TranslationBundle): Widget {
    const menu = document.createElement('details');
    menu.className = 'jp-hipkittens-Columns';
    const summary = document.createElement('summary');
    summary.textContent = trans.__('Columns');
    summary.title = trans.__('Show or hide what stands beside the instructions');
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
      ['Address', trans.__('address')],
      ['Count', trans.__('executed')],
      ['Cost', trans.__('cost')],
      ['Pressure', trans.__('live registers')],
      ['Source', trans.__('line')]
    ];
    for (const [name, label] of labels) {
      const others = () => preferences.isaHidden.filter(one => one !== name);
      box(
        label,
        () => others().length === preferences.isaHidden.length,
        on => void preferences.set('isaHidden', on ? others() : [...others(), name]),
        () => (this.noRoom.includes(name) ? trans.__('no room') : '')
      );
    }
    box(
      trans.__('colours of lines'),
      () => preferences.isaColours,
      on => void preferences.set('isaColours', on)
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

  readonly kernels: HTMLSelectElement;
  readonly measures: HTMLSelectElement;
  readonly compare: ToolbarButton;
  readonly waves: ToolbarButton;
  private readonly boxes: (() => void)[] = [];
}

/**
 * A box that finds an instruction: forwards with Enter, backwards with Shift+Enter.
 *
 * @param find - goes to the next instruction with a text, in the direction 1 or -1.
 */
export function findBox(find: (text: string, by: number) => void, trans: TranslationBundle): Widget {
  const input = document.createElement('input');
  input.type = 'search';
  input.className = 'jp-hipkittens-Find';
  input.placeholder = trans.__('Find');
  input.setAttribute('aria-label', trans.__('Find an instruction'));
  input.addEventListener('keydown', event => {
    if (event.key === 'Enter') {
      find(input.value, event.shiftKey ? -1 : 1);
    }
  });
  const holder = new Widget({ node: document.createElement('div') });
  holder.node.append(input);
  return holder;
}
