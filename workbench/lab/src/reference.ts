/**
 * The reference that a cell is verified against: asked for once, kept in the cell's metadata, passed to the magic as
 * options.
 */

import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { ICellModel } from '@jupyterlab/cells';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { PartialJSONObject } from '@lumino/coreutils';

import { FIELDS, ReferenceForm, type ILikely } from './referenceform';

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
 * @param specs - kernels of the library.
 * @param first - those that are offered before all others.
 * @param likely - the one that is chosen at first.
 * @param own - what the form begins with.
 */
export async function askReference(
  specs: readonly string[],
  first: ILikely,
  likely: string,
  own: Partial<IOwnReference>,
  trans: TranslationBundle
): Promise<Reference | null> {
  const body = new ReferenceForm(specs, first, likely, own, trans);
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
