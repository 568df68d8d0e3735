/** Tests of the extension's logic; CodeMirror and JupyterLab are ES modules, which ts-jest transforms as well. */
module.exports = {
  modulePathIgnorePatterns: ['<rootDir>/labextension/', '<rootDir>/lib/'],
  testEnvironment: 'jsdom',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  setupFiles: ['<rootDir>/test/setup.js'],
  transform: { '\\.(ts|tsx|js|mjs)$': ['ts-jest', { tsconfig: 'tsconfig.test.json' }] },
  transformIgnorePatterns: [
    '/node_modules/(?!(@jupyterlab|@jupyter|@lumino|@microsoft|@codemirror|@lezer|@marijn|lib0|y-protocols|y-websocket|yjs|nanoid|style-mod|w3c-keyname|crelt|exenv-es6|delay|internmap|robust-predicates|vscode-ws-jsonrpc)/)'
  ],
  moduleNameMapper: { '\\.(css|svg)$': '<rootDir>/test/empty.js' }
};
