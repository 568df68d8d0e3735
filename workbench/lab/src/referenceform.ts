/**
 * The form that asks for a cell's reference: a kernel of the library, or a function of the user's own.
 */

import type { Dialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import type { IOwnReference, Reference } from './reference';

/** Of the user's own reference. */
export const FIELDS = ['launch', 'inputs', 'outputs', 'reference'] as const;

/** Kernels of the library that a cell may be verified against: those it was, and those that fit its arguments. */
export interface ILikely {
  used: readonly string[];
  fitting: readonly string[];
}

/** The form of `askReference`. */
export class ReferenceForm extends Widget implements Dialog.IBodyWidget<Reference> {
  constructor(
    private readonly specs: readonly string[],
    private readonly first: ILikely,
    likely: string,
    own: Partial<IOwnReference>,
    private readonly trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-hipkittens-Reference');
    this.select = document.createElement('select');
    this.select.className = 'jp-hipkittens-Select';
    this.select.addEventListener('change', () => this.choose());
    const search = document.createElement('input');
    search.type = 'search';
    search.className = 'jp-mod-styled';
    search.placeholder = trans.__('search the library');
    search.setAttribute('aria-label', search.placeholder);
    search.addEventListener('input', () => this.list(search.value, ''));
    this.node.append(this.labelled(trans.__('Reference'), this.select), search);
    this.list('', likely);
    this.own.append(
      this.field('launch', trans.__('Launch'), own, 'scale[4, 64]', 1),
      this.field('inputs', trans.__('Inputs, all by name'), own, 'dict(x=torch.ones(256), by=2.0)', 2),
      this.field('outputs', trans.__('Outputs among them'), own, 'x', 1),
      this.field('reference', trans.__('Function of the inputs'), own, 'lambda x, by: x * by', 2)
    );
    const hint = document.createElement('p');
    hint.className = 'jp-hipkittens-Hint';
    hint.textContent = trans.__(
      'Python over the notebook’s variables. Inputs come by name, in float64; kept with the cell.'
    );
    this.own.append(hint);
    this.node.append(this.own);
  }

  /**
   * Lists what matches a search: what was used first, then what fits, then all. A search chooses its first answer.
   *
   * @param chosen - selected where nothing is searched for.
   */
  private list(search: string, chosen: string): void {
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    const { used, fitting } = this.first;
    const groups: [string, readonly string[]][] = [
      [this.trans.__('verified against before'), used],
      [this.trans.__('fits by name and arguments'), fitting],
      [
        this.trans.__('the library'),
        this.specs.filter(spec => !used.includes(spec) && !fitting.includes(spec))
      ]
    ];
    const matches = (spec: string) => words.every(word => spec.toLowerCase().includes(word));
    this.select.replaceChildren(new Option(this.trans.__('a function of mine'), '', true));
    for (const [label, specs] of groups) {
      const group = document.createElement('optgroup');
      group.label = label;
      group.append(...specs.filter(matches).map(spec => new Option(spec, spec)));
      if (group.childElementCount) {
        this.select.append(group);
      }
    }
    this.select.value = words.length
      ? (this.select.querySelector<HTMLOptionElement>('optgroup option')?.value ?? '')
      : chosen;
    this.choose();
  }

  getValue(): Reference {
    if (this.select.value) {
      return { spec: this.select.value };
    }
    const text = (name: (typeof FIELDS)[number]) => this.fields.get(name)?.value.trim() ?? '';
    return Object.fromEntries(FIELDS.map(name => [name, text(name)])) as unknown as IOwnReference;
  }

  private choose(): void {
    this.own.hidden = this.select.value !== '';
  }

  private field(
    name: (typeof FIELDS)[number],
    label: string,
    own: Partial<IOwnReference>,
    example: string,
    rows: number
  ): HTMLElement {
    const area = document.createElement('textarea');
    area.rows = rows;
    area.spellcheck = false;
    area.className = 'jp-mod-styled';
    area.placeholder = example;
    area.value = own[name] ?? '';
    this.fields.set(name, area);
    return this.labelled(label, area);
  }

  private labelled(text: string, of: HTMLElement): HTMLElement {
    const label = document.createElement('label');
    const name = document.createElement('span');
    name.textContent = text;
    label.append(name, of);
    return label;
  }

  private readonly select: HTMLSelectElement;
  private readonly own = document.createElement('div');
  private readonly fields = new Map<string, HTMLTextAreaElement>();
}
