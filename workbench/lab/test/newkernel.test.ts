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
    const cells = content.cells as { id: string; cell_type: string; source: string; outputs?: [] }[];
    expect(cells.map(cell => cell.cell_type)).toEqual(['markdown', 'code', 'code', 'code']);
    expect(cells[1].source).toBe(SETUP);
    expect(cells[2]).toMatchObject({ outputs: [], execution_count: null });
    expect(cells[2].source).toMatch(/^%%hipkittens gemm\n/);
    expect(new Set(cells.map(cell => cell.id)).size).toBe(4);
    expect(content.metadata).toMatchObject({ kernelspec: { name: 'python3' } });
  });

  it('knows what it is verified against', () => {
    for (const template of TEMPLATES) {
      const reference = (template.cells[1].metadata.hipkittens as { reference: object }).reference;
      expect(Object.keys(reference)).toEqual(['launch', 'inputs', 'outputs', 'reference']);
      expect(Object.values(reference).every(text => typeof text === 'string' && text !== '')).toBe(true);
    }
  });

  it('is written where the launcher is', async () => {
    const save = jest.fn(
      async (path: string, _options: Partial<Contents.IModel>) => ({ path }) as Contents.IModel
    );
    const newUntitled = jest.fn(async () => ({ path: 'mine/Untitled.ipynb' }) as Contents.IModel);
    expect(await createNotebook({ newUntitled, save }, gemm, 'python3', 'mine')).toBe('mine/Untitled.ipynb');
    expect(newUntitled).toHaveBeenCalledWith({ path: 'mine', type: 'notebook' });
    expect(save.mock.calls[0][0]).toBe('mine/Untitled.ipynb');
    expect((save.mock.calls[0][1].content as { nbformat: number }).nbformat).toBe(4);
  });

  it('loads the workbench where nothing does', () => {
    expect(cellsFor(gemm, ['x = 1']).map(cell => cell.source)[1]).toBe(SETUP);
    expect(cellsFor(gemm, [`import os\n${SETUP}`, 'x = 1'])).toEqual(gemm.cells);
    expect(cellsFor(gemm, ['%load_ext workbench\nimport torch'])).toHaveLength(4);
    expect(cellsFor(gemm, ['%load_ext workbench\nimport torch', 'import workbench as wb'])).toEqual(
      gemm.cells
    );
  });

  it('comes below the current cell, and its cell is the current one then', () => {
    const { made, texts } = notebook([SETUP, KERNEL, 'last'], 1);
    insertTemplate(made as never, gemm);
    expect(texts()).toEqual([SETUP, KERNEL, ...gemm.cells.map(cell => cell.source), 'last']);
    expect(made.activeCellIndex).toBe(3);
    expect(texts()[3].split('\n')[0]).toBe(KERNEL);
  });
});
