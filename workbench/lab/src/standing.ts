import type { TranslationBundle } from '@jupyterlab/translation';

import { isCurrent, type ICellPayload } from './payload';

/**
 * How a cell stands to its reference: what the sidebar says before the reference's name.
 *
 * @param payload - the cell's latest result; null where there is none, as after an error in its options.
 * @param text - the cell's text now.
 * @param running - whether the cell runs.
 */
export function standing(
  payload: ICellPayload | null,
  text: string,
  running: boolean,
  trans: TranslationBundle
): string {
  const run = payload?.run;
  if (running) {
    return trans.__('Verify will compare with');
  }
  if (run?.kind === 'verify' && run.error !== '') {
    return trans.__('Not verified, the run failed. Verify compares with');
  }
  if (!payload || !run || run.verified === null) {
    return trans.__('Verify compares with');
  }
  if (!isCurrent(payload, text)) {
    return trans.__('Edited since it was compared with');
  }
  return run.verified ? trans.__('Verified against') : trans.__('Differs from');
}
