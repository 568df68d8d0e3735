/**
 * Where the tutorials are: in the folder that the server shows, or below it in `notebooks`.
 */

import type { Contents } from '@jupyterlab/services';

const FOLDERS = ['notebooks', ''];

/** Path of the first tutorial; null where the server's folder has none. */
export async function firstTutorial(contents: Pick<Contents.IManager, 'get'>): Promise<string | null> {
  for (const folder of FOLDERS) {
    try {
      const found = (await contents.get(folder, { type: 'directory', content: true }))
        .content as Contents.IModel[];
      const first = found.find(({ name }) => /^01_.*kernel.*\.ipynb$/.test(name));
      if (first) {
        return first.path;
      }
    } catch {
      // No such folder here.
    }
  }
  return null;
}
