import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { commandOf, valuesOf, type Install } from './install.policy.ts';

const PLAIN: Install = {
  ...{ handle: 'probe', displayName: '', model: 'm-1', instructions: 'Answer.', replicaCount: 1, mcpServers: [] },
  ...{ skills: [], url: 'http://127.0.0.1:8080', token: 'swt_secret', modelKey: null, credential: null },
};
const HOSTILE = [
  `it's "quoted" and \`ticked\``,
  '$(touch /tmp/owned) ${HOME} !! \\ \\\\ \\n',
  'two\nlines\r\nand\ttabs # no comment',
  '- a: [b, {c: d}]: %TAG &x *y !!z | > @',
  '\u0085\u2028\u2029\ufeff\u007f\u009f😀 مرحبا',
  '--- \n...\nenv:\n  AGENTOPS_URL: "elsewhere"',
  ' '.repeat(3),
];

/** What the shell gives to the program that the command starts. */
function environmentBy(command: string): Record<string, string> {
  const shown = command.replace(/python worker\.py$/, 'env -0');
  const { stdout, status } = spawnSync('sh', ['-c', shown], { encoding: 'utf8', env: { PATH: process.env['PATH'] } });
  expect(status).toBe(0);
  return Object.fromEntries(
    stdout.split('\0').map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)]),
  );
}

/** The document's values by their names, read as what they are written as. */
function fieldsOf(values: string): Record<string, unknown> {
  const lines = values.split('\n').filter((line) => /^ *\w+: /.test(line));
  return Object.fromEntries(
    lines.map((line) => [line.trim().split(':', 1)[0], JSON.parse(line.slice(line.indexOf(': ') + 2))]),
  );
}

describe('the install text', () => {
  it('of little says little', () => {
    expect(commandOf(PLAIN)).toBe(
      `AGENTOPS_URL='http://127.0.0.1:8080' AGENTOPS_WORKER_TOKEN='swt_secret' AGENTOPS_AGENT_ID='probe' AGENTOPS_MODEL='m-1' python worker.py`,
    );
    expect(valuesOf(PLAIN)).toBe(
      `# Of one deployment of the agent’s workers. It holds the worker token, which is shown only here.
agentId: "probe"
displayName: ""
model: "m-1"
replicaCount: 1
instructions: "Answer."
mcpServers: []
skills: []
env:
  AGENTOPS_URL: "http://127.0.0.1:8080"
  AGENTOPS_WORKER_TOKEN: "swt_secret"
  AGENTOPS_AGENT_ID: "probe"
  AGENTOPS_MODEL: "m-1"
`,
    );
  });

  it.each(HOSTILE)('carries %j as it is, by a shell and by the document', (text) => {
    const skills = [{ id: text, content: text }];
    const mcpServers = [{ name: text, [text]: [text] }];
    const install = {
      ...PLAIN,
      displayName: text,
      model: text,
      instructions: text,
      skills,
      mcpServers,
      modelKey: text,
      credential: text,
    };
    const expected = {
      AGENTOPS_WORKER_TOKEN: 'swt_secret',
      AGENTOPS_AGENT_NAME: text,
      AGENTOPS_MODEL: text,
      AGENTOPS_LLM_CREDENTIAL_REF: text,
      ANTHROPIC_API_KEY: text,
    };
    expect(environmentBy(commandOf(install))).toMatchObject(expected);
    const values = valuesOf(install);
    expect(fieldsOf(values)).toMatchObject({ displayName: text, instructions: text, skills, mcpServers, ...expected });
    expect(values.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028\u2029\ufeff]/u);
    expect(values.split('\n')).toHaveLength(17);
  });
});
