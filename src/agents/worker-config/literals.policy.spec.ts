import { describe, expect, it } from '@jest/globals';
import { literalSecrets } from './literals.policy.ts';

describe('a secret in clear text', () => {
  it.each<[object, (string | number)[]]>([
    [{ headers: { Authorization: 'Bearer abc123' } }, ['headers', 'Authorization']],
    [{ headers: { Authorization: 'Basic dXNlcjpwYXNz' } }, ['headers', 'Authorization']],
    [{ headers: { 'X-Api-Key': 'abc' } }, ['headers', 'X-Api-Key']],
    [{ headers: { 'X-Api-Key': 'a${KEY}' } }, ['headers', 'X-Api-Key']],
    [{ headers: { Cookie: 'session=1' } }, ['headers', 'Cookie']],
    [{ env: { GITHUB_TOKEN: 'abc' } }, ['env', 'GITHUB_TOKEN']],
    [{ env: { DB_PASSWORD: 'abc' } }, ['env', 'DB_PASSWORD']],
    [{ env: { ANYTHING: 'ghp_0123456789012345678901' } }, ['env', 'ANYTHING']],
    [{ env: { ANYTHING: 'AKIA0123456789ABCDEF' } }, ['env', 'ANYTHING']],
    [{ oauth: { clientSecret: 'abc' } }, ['oauth', 'clientSecret']],
    [{ url: 'https://user:pass@mcp.test/' }, ['url']],
    [{ url: 'https://mcp.test/?api_key=abc' }, ['url']],
    [{ command: 'mcp', args: ['--token', 'abc'] }, ['args', 1]],
    [{ command: 'mcp', args: ['--verbose', '--api-key=abc'] }, ['args', 1]],
    [{ command: 'mcp', args: ['--header', 'Authorization: Bearer abc'] }, ['args', 1]],
  ])('%j is found where it stands', (server, at) => {
    expect(literalSecrets(server as Record<string, unknown>)).toEqual([at]);
  });

  it.each([
    { headers: { Authorization: 'Bearer ${TOKEN}', 'X-Tenant': 'blue' } },
    { headers: { Authorization: '${TOKEN}' } },
    { env: { GITHUB_TOKEN: '${GITHUB_TOKEN}', MAX_TOKENS: '4096', KEYBOARD: 'de', LOG_LEVEL: 'info' } },
    { url: 'https://${USER}:${PASS}@mcp.test/?api_key=${KEY}&team=blue' },
    { url: 'https://mcp.test/key/token' },
    { command: 'mcp', args: ['--token', '${TOKEN}', '--api-key=${KEY}', 'serve', '--author', 'ada'] },
    { type: 'http', timeout: 30, enabled: true, tools: ['read_secret', 'bearer'], headers: null },
    {},
  ])('is none in %j', (server) => {
    expect(literalSecrets(server)).toEqual([]);
  });
});
