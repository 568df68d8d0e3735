import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Contents } from '@jupyterlab/services';

import { tutorials } from '../src/tutorials';

function server(folders: Record<string, string[]>): Pick<Contents.IManager, 'get'> {
  return {
    get: async (folder: string) => {
      if (!(folder in folders)) {
        throw new Error('404');
      }
      const path = (name: string) => (folder ? `${folder}/${name}` : name);
      const file = (name: string) => ({ name, path: path(name), type: 'notebook' });
      const folderHere = folder === '' && 'notebooks' in folders;
      const inside = folderHere ? [{ ...file('notebooks'), type: 'directory' }] : [];
      return { content: [...folders[folder].map(file), ...inside] } as Contents.IModel;
    }
  };
}

describe('tutorials', () => {
  const files = [
    '13_on_a_gpu.ipynb',
    '02_matrix_multiply.ipynb',
    '01_first_kernel.ipynb',
    'run.py',
    'mine.ipynb'
  ];

  it('are listed by titles, in their order', async () => {
    assert.deepEqual(await tutorials(server({ notebooks: files, '': ['01_my_kernel.ipynb'] })), [
      { path: 'notebooks/01_first_kernel.ipynb', title: '1. First kernel' },
      { path: 'notebooks/02_matrix_multiply.ipynb', title: '2. Matrix multiply' },
      { path: 'notebooks/13_on_a_gpu.ipynb', title: '13. On a GPU' }
    ]);
  });

  it('may be in the folder itself, or absent', async () => {
    assert.equal((await tutorials(server({ '': files })))[0].path, '01_first_kernel.ipynb');
    assert.deepEqual(await tutorials(server({ notebooks: ['02_mine.ipynb'], '': [] })), []);
    assert.deepEqual(await tutorials(server({})), []);
  });
});
