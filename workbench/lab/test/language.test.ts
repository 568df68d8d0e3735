import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ensureSyntaxTree, forceParsing, getIndentation, indentUnit, syntaxTree } from '@codemirror/language';
import { toggleComment } from '@codemirror/commands';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { python } from '@codemirror/lang-python';

import { cellExtension, type IServices } from '../src/editor';
import { isHipWord, isKittensWord, withoutQualifiers } from '../src/language';
import { SourceLinks } from '../src/links';
import { Preferences } from '../src/preferences';

const CELL = `%%hipkittens rms -D N=4 --flags "-O3"
// don't worry
__global__ __launch_bounds__(256, 2) void k(const globals<128> g) {
    if (threadIdx.x < 8) {
        row_s
    }
}`;

const services: IServices = { preferences: new Preferences(), links: new SourceLinks() };

function editor(text: string): EditorView {
  return new EditorView({
    parent: document.body,
    state: EditorState.create({
      doc: text,
      extensions: [python(), indentUnit.of('    '), cellExtension(null, text, services)]
    })
  });
}

function nodeAt(state: EditorState, word: string, side: 1 | -1 = 1): string {
  const position = state.doc.toString().indexOf(word);
  const tree = ensureSyntaxTree(state, state.doc.length, 5000);
  return tree!.resolveInner(position, side).name;
}

/** Lets the view's own tree be whole: the editor parses for a few milliseconds at a time, which a busy computer may
 * not give it. */
function parsed(view: EditorView): void {
  assert.equal(forceParsing(view, view.state.doc.length, 5000), true);
}

describe('language of a cell', () => {
  it('is C++ under the magic line', () => {
    const { state } = editor(CELL);
    assert.equal(nodeAt(state, '%%hipkittens'), 'Magic');
    assert.equal(nodeAt(state, 'rms'), 'ModuleName');
    assert.equal(nodeAt(state, '--flags'), 'Flag');
    assert.equal(nodeAt(state, 'N=4'), 'Value');
    assert.equal(nodeAt(state, "don't"), 'LineComment');
    assert.equal(nodeAt(state, 'if ('), 'if');
    assert.equal(nodeAt(state, '128'), 'Number');
    assert.equal(nodeAt(state, 'void'), 'PrimitiveType');
  });

  it('reads past the qualifiers of HIP', () => {
    const { state } = editor(
      '%%hipkittens a\n__global__ __launch_bounds__(64) void k() {\n __shared__ float x[4];\n}'
    );
    let errors = 0;
    ensureSyntaxTree(state, state.doc.length, 5000)!.iterate({
      enter: ref => void (errors += Number(ref.type.isError))
    });
    assert.equal(errors, 0);
    assert.equal(withoutQualifiers('__device__ int a__b;'), '           int a__b;');
  });

  it('is Python where the first line is not the magic, apostrophes and all', () => {
    const { state } = editor("s = 'it''s' # don't\n%%hipkittens\n");
    assert.equal(nodeAt(state, "'it"), 'String');
    assert.equal(nodeAt(state, "don't"), 'Comment');
    assert.equal(editor('%%hipkittens?').state.sliceDoc(), '%%hipkittens?');
    assert.equal(syntaxTree(editor('%%hipkittens?').state).type.name, 'Script');
    assert.equal(syntaxTree(editor('%%hipkittens_other').state).type.name, 'Script');
  });

  it('changes when the magic line comes and goes', () => {
    const view = editor(CELL);
    assert.equal(syntaxTree(view.state).type.name, 'Cell');
    view.dispatch({ changes: { from: 0, insert: '#' } });
    assert.equal(syntaxTree(view.state).type.name, 'Script');
    view.dispatch({ changes: { from: 0, to: 1 } });
    assert.equal(syntaxTree(view.state).type.name, 'Cell');
    assert.equal(nodeAt(view.state, 'if ('), 'if');
  });

  it('gives the leaf at the cursor, as completion asks for it', () => {
    const view = editor(CELL);
    parsed(view);
    const { state } = view;
    const offset = CELL.indexOf('row_s') + 5;
    const tree = ensureSyntaxTree(state, offset, 5000);
    let found = '';
    tree!.iterate({
      enter: ref => {
        if (found || ref.node.firstChild) {
          return !found;
        }
        if (offset >= ref.from && offset <= ref.to) {
          found = state.sliceDoc(ref.from, ref.to);
        }
        return !found;
      }
    });
    assert.equal(found, 'row_s');
  });

  it('indents and comments as C++', () => {
    const view = editor(CELL);
    parsed(view);
    const inside = CELL.indexOf('        row_s');
    assert.equal(getIndentation(view.state, inside), 8);
    view.dispatch({ selection: { anchor: CELL.indexOf('row_s') } });
    toggleComment(view);
    assert.equal(view.state.doc.line(5).text, '        // row_s');
    // The magic line takes no comment: it would be a magic line no more.
    view.dispatch({ selection: { anchor: 3 } });
    toggleComment(view);
    assert.equal(view.state.doc.line(1).text, CELL.split('\n')[0]);
  });

  it('follows edits on the magic line and below', () => {
    const view = editor(CELL);
    parsed(view);
    view.dispatch({ changes: { from: 12, insert: ' --time' } });
    assert.equal(nodeAt(view.state, '--time'), 'Flag');
    assert.equal(nodeAt(view.state, 'if ('), 'if');
    const at = view.state.doc.toString().indexOf('row_s');
    view.dispatch({ changes: { from: at, to: at + 5, insert: 'int b = 42;' } });
    assert.equal(nodeAt(view.state, '42'), 'Number');
  });

  it('marks words of HIP and the tile library, not in comments', () => {
    const view = editor('%%hipkittens a\nrt_bf<16> t; // rt_bf\n__shared__ int s;');
    parsed(view);
    view.dispatch({ changes: { from: view.state.doc.length, insert: '\n' } });
    parsed(view);
    const words = (name: string) => [...view.dom.querySelectorAll(`.${name}`)].map(node => node.textContent);
    assert.deepEqual(words('jp-hipkittens-kittens'), ['rt_bf']);
    assert.deepEqual(words('jp-hipkittens-hip'), ['__shared__']);
  });

  it("leaves a variable of the cell's own in its own colour, whatever the library calls so", () => {
    const marked = (body: string) => {
      const view = editor(`%%hipkittens a\nvoid f(int *load, float &mul) {\n${body}\n}`);
      parsed(view);
      view.dispatch({ changes: { from: view.state.doc.length, insert: '\n' } });
      parsed(view);
      return [...view.dom.querySelectorAll('.jp-hipkittens-kittens')].map(node => node.textContent);
    };
    assert.deepEqual(marked('store(a, b);'), ['store']);
    assert.deepEqual(marked('const int store = load[0];\nstore + mul;'), []);
  });

  it('knows words of the library and of HIP', () => {
    for (const word of ['rt_bf', 'row_sum', 'mma_ABt', 'kittens', 'rt_32x32_s']) {
      assert.deepEqual([word, isKittensWord(word), isHipWord(word)], [word, true, false]);
    }
    for (const word of [
      '__shfl_down_sync',
      'threadIdx',
      'atomicAdd',
      '__builtin_amdgcn_s_barrier',
      'float4'
    ]) {
      assert.deepEqual([word, isKittensWord(word), isHipWord(word)], [word, false, true]);
    }
    for (const word of ['my_rt', 'rows', 'x', '__builtin_expect', 'float', 'int5']) {
      assert.deepEqual([word, isKittensWord(word), isHipWord(word)], [word, false, false]);
    }
  });

  it('leaves nothing behind when editors go', () => {
    const preferences = new Preferences();
    const view = editor(CELL);
    view.destroy();
    assert.doesNotThrow(() => (preferences.changed as any).emit());
  });
});
