import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  hasKernels,
  isHipkittens,
  isOurs,
  isTriton,
  moduleName,
  parseMagicLine,
  withOptions,
  optionsAt
} from '../src/magic';

describe('magic line', () => {
  it('is the first line and nothing else', () => {
    assert.equal(isHipkittens('%%hipkittens k\n'), true);
    assert.equal(isHipkittens('%%hipkittens'), true);
    assert.equal(isHipkittens(' %%hipkittens k'), false);
    assert.equal(isHipkittens('\n%%hipkittens k'), false);
    assert.equal(isHipkittens('%%hipkittensx'), false);
    assert.equal(isHipkittens('%%hipkittens?'), false);
    assert.equal(isHipkittens('%hipkittens doctor'), false);
  });

  it('of a Triton cell is known too, and is no C++', () => {
    assert.equal(isTriton('%%triton k --profile\n'), true);
    assert.equal(isOurs('%%triton k'), true);
    assert.equal(isHipkittens('%%triton k'), false);
    assert.equal(isTriton('%%tritonx k'), false);
    assert.equal(hasKernels('%%triton k'), true);
    assert.equal(hasKernels('import triton\n\n@triton.jit\ndef add(x):\n'), true);
    assert.equal(hasKernels('%%writefile a.py\n@triton.jit\n'), false);
    assert.equal(hasKernels('x = 1\n'), false);
    assert.equal(moduleName('%%triton soft --time'), 'soft');
    assert.equal(withOptions('%%triton k\nx = 1', ['--profile']), '%%triton k --profile\nx = 1');
  });

  it('has a name, options and their values', () => {
    const kinds = parseMagicLine(
      '%%hipkittens rms --arch gfx950 -DN=4 -D M --profile --flags "-O1 -g" x'
    ).map(part => [part.kind, part.text]);
    assert.deepEqual(kinds, [
      ['magic', '%%hipkittens'],
      ['name', 'rms'],
      ['flag', '--arch'],
      ['value', 'gfx950'],
      ['flag', '-DN=4'],
      ['flag', '-D'],
      ['value', 'M'],
      ['flag', '--profile'],
      ['flag', '--flags'],
      ['string', '"-O1 -g"'],
      ['value', 'x']
    ]);
    assert.equal(moduleName('%%hipkittens --time soft'), 'soft');
    assert.equal(moduleName('%%hipkittens --arch gfx942 soft'), 'soft');
    assert.equal(moduleName('%%hipkittens'), '');
  });

  it('takes options once, and the lines below stay where they are', () => {
    assert.equal(withOptions('%%hipkittens k\nint a;', ['--profile']), '%%hipkittens k --profile\nint a;');
    assert.equal(
      withOptions('%%hipkittens k --profile\nint a;', ['--profile']),
      '%%hipkittens k --profile\nint a;'
    );
    assert.equal(
      withOptions('%%hipkittens k', ['--verify', 'a/b', '--time']),
      '%%hipkittens k --verify a/b --time'
    );
    assert.equal(
      withOptions('%%hipkittens k --verify c/d\nx', ['--verify', 'a/b']),
      '%%hipkittens k --verify c/d\nx'
    );
  });
});

describe('options', () => {
  it('are those that begin as what is typed', () => {
    const { begun, options } = optionsAt('%%hipkittens k --prof');
    assert.deepEqual([begun, options.map(({ name }) => name)], [6, ['--profile']]);
    assert.deepEqual(optionsAt('%%hipkittens ro').options, []);
  });
});
