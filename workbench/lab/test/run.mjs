/** Bundles the tests as the extension is bundled, and runs them with Node's own runner: `node test/run.mjs [FILE...]`. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { rspack } from '@rspack/core';

const here = import.meta.dirname;
const names = process.argv.slice(2).map(file => basename(file));
const tests = readdirSync(here).filter(
  file => file.endsWith('.test.ts') && (!names.length || names.includes(file))
);
const output = mkdtempSync(join(here, '..', 'node_modules', '.tests-'));
const compiler = rspack({
  context: here,
  devtool: 'inline-source-map',
  entry: Object.fromEntries(tests.map(file => [file.replace('.ts', ''), ['./setup.js', `./${file}`]])),
  externals: { jsdom: 'commonjs jsdom' },
  mode: 'development',
  module: {
    rules: [
      {
        test: /\.tsx?$/,
        loader: 'builtin:swc-loader',
        options: { jsc: { parser: { syntax: 'typescript', tsx: true } } }
      },
      { test: /\.(css|svg)$/, type: 'asset/source' }
    ]
  },
  output: { path: output },
  resolve: { extensions: ['.ts', '.tsx', '.js'] },
  target: 'node'
});
compiler.run((error, stats) => {
  let status = 1;
  if (error || stats.hasErrors()) {
    console.error(error ?? stats.toString('errors-only'));
  } else {
    const files = tests.map(file => join(output, file.replace('.ts', '.js')));
    const options = { stdio: 'inherit' };
    status = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...files], options).status ?? 1;
  }
  rmSync(output, { recursive: true });
  process.exitCode = status;
});
