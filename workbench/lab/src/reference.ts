/**
 * The reference that a cell is verified against: asked for once, kept in the cell's metadata, passed to the magic as
 * options.
 */

import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { ICellModel } from '@jupyterlab/cells';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { PartialJSONObject } from '@lumino/coreutils';
import { Widget } from '@lumino/widgets';

/** Key of the cell's metadata. */
const KEY = 'hipkittens';

/** The cell's own launch and reference, each as Python over the notebook's variables. */
export interface IOwnReference {
  launch: string;
  inputs: string;
  outputs: string;
  reference: string;
}

/** A kernel of the library whose inputs and reference are used, or the cell's own. */
export type Reference = { spec: string } | IOwnReference;

const FIELDS = ['launch', 'inputs', 'outputs', 'reference'] as const;

/**
 * The reference of a cell; null if nobody has given it yet.
 */
export function referenceOf(model: ICellModel): Reference | null {
  const kept = (model.getMetadata(KEY) as PartialJSONObject | undefined)?.reference as
    | PartialJSONObject
    | undefined;
  if (typeof kept?.spec === 'string') {
    return { spec: kept.spec };
  }
  return kept && FIELDS.every(name => typeof kept[name] === 'string')
    ? (kept as unknown as IOwnReference)
    : null;
}

export function keepReference(model: ICellModel, reference: Reference): void {
  const others = (model.getMetadata(KEY) as PartialJSONObject | undefined) ?? {};
  model.setMetadata(KEY, { ...others, reference: { ...reference } });
}

/**
 * The options that verify against a reference.
 */
export function optionsOf(reference: Reference): string[] {
  return 'spec' in reference
    ? ['--verify', reference.spec]
    : FIELDS.flatMap(name => [`--${name}`, quoted(reference[name])]);
}

/** As one word of a magic's line: on one line, in a shell's quotes, its braces and dollars safe from IPython. */
export function quoted(text: string): string {
  const line = text.trim().replace(/\s*\n\s*/g, ' ');
  return `'${line.replace(/[{}$]/g, '$&$&').replace(/'/g, `'"'"'`)}'`;
}

/** In short, for the sidebar. */
export function describeReference(reference: Reference): string {
  return 'spec' in reference ? reference.spec : reference.reference;
}

/**
 * Asks for the reference of a cell; null where the user cancels.
 *
 * @param specs - kernels of the library; `likely` is the one that is chosen at first.
 * @param own - what the form begins with.
 */
export async function askReference(
  specs: readonly string[],
  likely: string,
  own: Partial<IOwnReference>,
  trans: TranslationBundle
): Promise<Reference | null> {
  const body = new ReferenceForm(specs, likely, own, trans);
  const result = await showDialog<Reference>({
    title: trans.__('Verify against'),
    body,
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.okButton({ label: trans.__('Verify') })
    ],
    focusNodeSelector: likely ? 'select' : 'textarea'
  });
  return result.button.accept ? result.value : null;
}

class ReferenceForm extends Widget implements Dialog.IBodyWidget<Reference> {
  constructor(
    specs: readonly string[],
    likely: string,
    own: Partial<IOwnReference>,
    trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-hipkittens-Reference');
    this.select = document.createElement('select');
    this.select.className = 'jp-hipkittens-Select';
    this.select.append(
      new Option(trans.__('a function of mine'), '', true, !likely),
      ...specs.map(spec => new Option(spec, spec, false, spec === likely))
    );
    this.select.addEventListener('change', () => this.choose());
    this.node.append(this.labelled(trans.__('Reference'), this.select));
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
