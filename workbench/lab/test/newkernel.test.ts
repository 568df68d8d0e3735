import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { Contents } from '@jupyterlab/services';

import { cellsFor, createNotebook, insertTemplate, notebookOf } from '../src/newkernel';
import { SETUP, TEMPLATES } from '../src/templates';

const gemm = TEMPLATES.find(({ name }) => name === 'gemm')!;
const KERNEL = '%%hipkittens gemm';

/** A notebook with cells of these texts, the one at `activeCellIndex` current. */
function notebook(texts: string[], activeCellIndex: number) {
  const widgets = texts.map(text => ({ model: { sharedModel: { getSource: () => text } } }));
  const made = {
    widgets,
    activeCellIndex,
    deselectAll: () => undefined,
    scrollToItem: async () => undefined,
    model: {
      sharedModel: {
        cells: widgets.map(({ model }) => model.sharedModel),
        insertCells: (at: number, cells: { source: string }[]) =>
          void widgets.splice(
            at,
            0,
            ...cells.map(({ source }) => ({ model: { sharedModel: { getSource: () => source } } }))
          )
      }
    }
  };
  return { made, texts: () => made.widgets.map(({ model }) => model.sharedModel.getSource()) };
}

describe('a new kernel', () => {
  it('is a notebook that has all that its kernel needs', () => {
    const content = notebookOf(gemm, 'python3');
    const cells = content.cells as {
      id: string;
      cell_type: string;
      source: string;
      outputs?: [];
      execution_count?: null;
    }[];
    assert.deepEqual(
      cells.map(cell => cell.cell_type),
      ['markdown', 'code', 'code', 'code']
    );
    assert.equal(cells[1].source, SETUP);
    assert.deepEqual([cells[2].outputs, cells[2].execution_count], [[], null]);
    assert.match(cells[2].source, /^%%hipkittens gemm\n/);
    assert.equal(new Set(cells.map(cell => cell.id)).size, 4);
    assert.equal((content.metadata.kernelspec as { name: string }).name, 'python3');
  });

  it('knows what it is verified against', () => {
    for (const template of TEMPLATES) {
      const reference = (template.cells[1].metadata.hipkittens as { reference: object }).reference;
      assert.deepEqual(Object.keys(reference), ['launch', 'inputs', 'outputs', 'reference']);
      assert.equal(
        Object.values(reference).every(text => typeof text === 'string' && text !== ''),
        true
      );
    }
  });

  it('is written where the launcher is', async () => {
    const save = mock.fn(
      async (path: string, _options: Partial<Contents.IModel>) => ({ path }) as Contents.IModel
    );
    const newUntitled = mock.fn(async () => ({ path: 'mine/Untitled.ipynb' }) as Contents.IModel);
    assert.equal(await createNotebook({ newUntitled, save }, gemm, 'python3', 'mine'), 'mine/Untitled.ipynb');
    assert.deepEqual(newUntitled.mock.calls[0].arguments, [{ path: 'mine', type: 'notebook' }]);
    assert.equal(save.mock.calls[0].arguments[0], 'mine/Untitled.ipynb');
    assert.equal((save.mock.calls[0].arguments[1].content as { nbformat: number }).nbformat, 4);
  });

  it('loads the workbench where nothing does', () => {
    assert.equal(cellsFor(gemm, ['x = 1']).map(cell => cell.source)[1], SETUP);
    assert.deepEqual(cellsFor(gemm, [`import os\n${SETUP}`, 'x = 1']), gemm.cells);
    assert.equal(cellsFor(gemm, ['%load_ext workbench\nimport torch']).length, 4);
    assert.deepEqual(
      cellsFor(gemm, ['%load_ext workbench\nimport torch', 'import workbench as wb']),
      gemm.cells
    );
  });

  it('comes below the current cell, and its cell is the current one then', () => {
    const { made, texts } = notebook([SETUP, KERNEL, 'last'], 1);
    insertTemplate(made as never, gemm);
    assert.deepEqual(texts(), [SETUP, KERNEL, ...gemm.cells.map(cell => cell.source), 'last']);
    assert.equal(made.activeCellIndex, 3);
    assert.equal(texts()[3].split('\n')[0], KERNEL);
  });
});
