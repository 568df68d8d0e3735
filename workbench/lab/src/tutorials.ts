/**
 * Where the tutorials are: in the folder that the server shows, or below it in `notebooks`.
 */

import type { Contents } from '@jupyterlab/services';

const FOLDER = 'notebooks';

export interface ITutorial {
  path: string;
  /** Such as "2. Matrix multiply": a file browser cuts the names of files. */
  title: string;
}

/** The tutorials in their order; none where the server's folder has none. */
export async function tutorials(contents: Pick<Contents.IManager, 'get'>): Promise<ITutorial[]> {
  const files = async (folder: string) =>
    (await contents.get(folder, { type: 'directory', content: true })).content as Contents.IModel[];
  try {
    const shown = await files('');
    // Asking for a folder that is absent leaves an error in the browser's console.
    const isThere = shown.some(({ name, type }) => name === FOLDER && type === 'directory');
    for (const listed of [isThere ? await files(FOLDER) : [], shown]) {
      if (listed.some(({ name }) => /^01_.*kernel.*\.ipynb$/.test(name))) {
        return listed
          .flatMap(({ name, path }) => {
            const [, number, words] = /^(\d\d)_(\w+)\.ipynb$/.exec(name) ?? [];
            return number ? [{ path, title: titleOf(Number(number), words) }] : [];
          })
          .sort((a, b) => a.path.localeCompare(b.path));
      }
    }
  } catch {
    // The server does not list its folder.
  }
  return [];
}

/** Words of file names that are names. */
const NAMES: Record<string, string> = { gpu: 'GPU', torch: 'PyTorch', triton: 'Triton' };

function titleOf(number: number, words: string): string {
  const text = words
    .split('_')
    .map(word => NAMES[word] ?? word)
    .join(' ');
  return `${number}. ${text[0].toUpperCase()}${text.slice(1)}`;
}
