import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { diagnosticCount, forEachDiagnostic, type Diagnostic } from '@codemirror/lint';
import { EditorState, Text } from '@codemirror/state';
import { EditorView } from '@codemirror/view';

import {
  diagnosticsExtension,
  goToFinding,
  keepToEditor,
  offsetOf,
  rangeOf,
  showFindings,
  textOf
} from '../src/diagnostics';
import type { IFinding } from '../src/payload';

const TEXT = '%%hipkittens k\nint main() {\n    return 𝒙 + value\n}';

function finding(line: number, column: number, more: Partial<IFinding> = {}): IFinding {
  return {
    line,
    column,
    end_line: 0,
    end_column: 0,
    severity: 'error',
    message: 'wrong',
    fixits: [],
    notes: [],
    source: 'compiler',
    option: '',
    ...more
  };
}

const doc = Text.of(TEXT.split('\n'));
const marked = (found: IFinding) => {
  const { from, to } = rangeOf(doc, found);
  return doc.sliceString(from, to);
};

describe('places of findings', () => {
  it('count characters, not UTF-16 units', () => {
    assert.equal(doc.sliceString(offsetOf(doc, [3, 13]), offsetOf(doc, [3, 14])), ' ');
    assert.equal(marked(finding(3, 16)), 'value');
  });

  it('cover the word, the line, or what the finding says', () => {
    assert.equal(marked(finding(2, 5)), 'main');
    assert.equal(marked(finding(2, 9)), '(');
    assert.equal(marked(finding(2, 1, { end_line: 2, end_column: 9 })), 'int main');
    assert.equal(marked(finding(3, 0)), 'return 𝒙 + value');
    assert.equal(marked(finding(0, 0)), '%%hipkittens k');
  });

  it('stay inside the text', () => {
    assert.equal(marked(finding(3, 21)), 'e');
    assert.equal(marked(finding(99, 7)), '}');
    assert.equal(marked(finding(3, 900)), 'e');
  });
});

describe('texts of findings', () => {
  const parts = (more: Partial<IFinding>) => Object.values(textOf(finding(2, 1, more)));
  it('begin with the cause', () => {
    assert.deepEqual(parts({ message: "expected ';'\nin x.cuh:3", option: '-Wx' }), [
      "expected ';'",
      '\nin x.cuh:3',
      ' [-Wx]'
    ]);
    assert.deepEqual(parts({ source: 'sanitizer', option: 'race', message: 'race in shared memory' }), [
      'Race',
      ' in shared memory',
      ''
    ]);
    assert.deepEqual(parts({ source: 'device', option: 'out of bounds', message: 'read 4 bytes' }), [
      'Out of bounds',
      ': read 4 bytes',
      ''
    ]);
    assert.deepEqual(parts({ source: 'sanitizer', option: 'note', message: 'a resource is large' }), [
      'a resource is large',
      '',
      ''
    ]);
  });

  it('are no wider than the editor', () => {
    const dom = document.createElement('div');
    const limit = (clientWidth: number) => {
      keepToEditor(dom, { dom: { clientWidth } } as unknown as EditorView);
      return parseFloat(dom.style.maxWidth);
    };
    assert.ok(limit(400) < 400 && limit(400) > 350);
    assert.equal(limit(2000), 640);
  });
});

describe('findings in an editor', () => {
  const make = () =>
    new EditorView({
      parent: document.body,
      state: EditorState.create({ doc: TEXT, extensions: diagnosticsExtension() })
    });
  const all = (view: EditorView) => {
    const found: (Diagnostic & { at: number })[] = [];
    forEachDiagnostic(view.state, (diagnostic, from) => found.push({ ...diagnostic, at: from }));
    return found;
  };

  it('show with severity, notes and option, and are cleared at once by an empty list', () => {
    const view = make();
    showFindings(view, [
      finding(2, 5, { severity: 'warning', option: '-Wmain', notes: ['line 1: see here'] }),
      finding(2, 1, { severity: 'remark', source: 'sanitizer' })
    ]);
    const [remark, warning] = all(view);
    assert.equal(warning.severity, 'warning');
    assert.equal(warning.message, 'wrong [-Wmain]\nline 1: see here');
    assert.equal(remark.severity, 'info');
    assert.equal(remark.source, 'sanitizer');
    showFindings(view, []);
    assert.equal(diagnosticCount(view.state), 0);
  });

  it('stand with the worst first where several are at one place, with code set apart', () => {
    const view = make();
    showFindings(view, [
      finding(2, 5, { severity: 'note', message: 'by the way' }),
      finding(2, 5, { source: 'device', option: 'fault', message: 'executed `s_trap 2`' })
    ]);
    assert.deepEqual(
      all(view).map(one => one.severity),
      ['error', 'info']
    );
    const dom = all(view)[0].renderMessage!(view) as HTMLElement;
    assert.equal(dom.querySelector('b')!.textContent, 'Fault');
    assert.equal(dom.querySelector('code')!.textContent, 's_trap 2');
    assert.equal(dom.textContent, 'Fault: executed s_trap 2');
  });

  it('are shown by the keyboard too, one after the other, until the cursor moves', () => {
    const view = make();
    const shown = () =>
      [...view.dom.querySelectorAll('.cm-tooltip-lint .cm-diagnostic')].map(item => item.textContent);
    assert.equal(goToFinding(view, true), false);
    showFindings(view, [finding(2, 5), finding(3, 12, { message: 'other', severity: 'warning' })]);
    assert.equal(goToFinding(view, true), true);
    assert.deepEqual(shown(), ['wrong']);
    goToFinding(view, true);
    assert.deepEqual(shown(), ['other']);
    goToFinding(view, false);
    assert.deepEqual(shown(), ['wrong']);
    view.dispatch({ selection: { anchor: 0 } });
    assert.deepEqual(shown(), []);
  });

  it('are cleared by an edit', () => {
    const view = make();
    showFindings(view, [finding(2, 5)]);
    view.dispatch({ selection: { anchor: 3 } });
    assert.equal(diagnosticCount(view.state), 1);
    view.dispatch({ changes: { from: view.state.doc.length, insert: '\n' } });
    assert.equal(diagnosticCount(view.state), 0);
  });

  it('are fixed one after the other, each at its place', () => {
    const view = make();
    showFindings(view, [
      finding(2, 5, { fixits: [{ start: [2, 5], end: [2, 9], text: 'entry_point' }] }),
      finding(2, 9, { fixits: [{ start: [2, 9], end: [2, 11], text: '(void)' }], message: 'no parameters' }),
      finding(3, 21, { fixits: [{ start: [3, 21], end: [3, 21], text: ';' }] })
    ]);
    const apply = (name: string) => {
      const diagnostic = all(view).find(one => one.actions?.[0].name === name)!;
      diagnostic.actions![0].apply(view, diagnostic.at, diagnostic.at);
    };
    apply("Replace 'main' by 'entry_point'");
    assert.equal(diagnosticCount(view.state), 2);
    apply("Replace '()' by '(void)'");
    apply("Insert ';'");
    assert.equal(
      view.state.doc.toString(),
      '%%hipkittens k\nint entry_point(void) {\n    return 𝒙 + value;\n}'
    );
    assert.equal(diagnosticCount(view.state), 0);
  });
});
