/**
 * Reasons why the kernel cannot answer the editor, reported once and not at every key.
 */

import { Signal, type ISignal } from '@lumino/signaling';

import { NotLoaded, type KernelLine } from './kernel';

const said = new WeakMap<KernelLine, Set<string>>();
const signal = new Signal<object, string>({});

/** Emits messages for the user. */
export const problems: ISignal<object, string> = signal;

/**
 * Tells the user why there is no answer, once for each kernel and reason.
 *
 * A question that timed out has no message, and one to a restarting kernel needs none.
 */
export function sayOnce(line: KernelLine, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const messages = said.get(line) ?? new Set<string>();
  said.set(line, messages);
  if (message && !(error instanceof NotLoaded) && !messages.has(message)) {
    messages.add(message);
    signal.emit(message);
  }
}
