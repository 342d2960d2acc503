import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Json } from '../support/app.ts';
import { canonical, newToken } from './exchange.ts';
import { Stage } from './stage.ts';
import type { Tenant } from './tenant.ts';

let stage: Stage;
let home: Tenant;

beforeAll(async () => {
  stage = await Stage.open();
  home = stage.home;
});
afterAll(() => stage.app.stop());

/** Text that somebody would like to tidy up. */
const TEXTS = [
  '  two before and two after  ',
  'Grüße, 你好, 👩‍👩‍👧‍👦 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿',
  'e\u0301 is not \u00e9',
  'UPPER lower MiXeD@Example.COM',
  'line\r\nbreak\ttab\u2028\u2029\u0085',
  'https://EXAMPLE.com:443/a/../b/?q=%7Ea&&c',
  '<b>&amp;</b> \\ " \' ` ${x} %s {0}',
  '\u200f\u202eright to left\u202c',
  '2030-01-31T12:00:00+00:00',
];

const ODD_JSON = `{
  "zebra": 1, "apple": 2, "10": "ten", "9": "nine", "": "no name", " ": "a space",
  "__proto__": {"admin": true}, "constructor": {"prototype": {"x": 1}}, "toString": null, "hasOwnProperty": [],
  "list": [3, 1, 2, 2, [], {}, null, "", false, 0],
  "numbers": [9007199254740991, -9007199254740991, 0.1, 1e21, 1.5e-7, 123456.789, 0],
  "texts": ${JSON.stringify(TEXTS)}, "empty": {}, "nothing": null, "deep": {"a": {"b": {"c": [{"d": [[[["e"]]]]}]}}}
}`;

describe('API keys', () => {
  test.each([
    ['2031-02-03T04:05:06+02:00'],
    ['2031-02-03T04:05:06.120Z'],
    ['2031-02-03T04:05:06.123456789Z'],
    ['2031-02-03t04:05:06z'],
    ['2031-02-03T04:05:06-00:00'],
  ])('expires_at comes back character for character: %s', async (expires_at) => {
    const created = await home.ask('POST', '/api/v1/api-keys', { name: 'Expiring', expires_at });
    expect(created.expires_at).toBe(expires_at);
    expect((await listedKey(created.id)).expires_at).toBe(expires_at);
  });

  test.each(TEXTS.map((text) => [text]))('the name comes back byte for byte: %j', async (name) => {
    const created = await home.ask('POST', '/api/v1/api-keys', { name });
    expect(created.name).toBe(name);
    expect((await listedKey(created.id)).name).toBe(name);
  });

  test('what was made is what is listed, revealed, and after its end still listed; scopes keep order and duplicates', async () => {
    const scopes = ['runs:write', 'agents:read', 'runs:read', 'agents:read', 'runs:write'];
    const sent = { name: 'Round trip', role_ids: ['role_runner'], scopes, expires_at: null };
    const { key, ...created } = await home.ask('POST', '/api/v1/api-keys', sent);
    expect(created).toMatchObject({ name: sent.name, scopes, status: 'active', bound_to: 'service_account' });
    expect(created.expires_at ?? null).toBeNull();
    expect(await listedKey(created.id)).toEqual(created);
    expect(await home.ask('GET', `/api/v1/api-keys/${created.id}/reveal`)).toEqual({ key });
    expect(await listedKey(created.id)).toEqual(created); // reads touch nothing
    const ended = await home.ask('DELETE', `/api/v1/api-keys/${created.id}`);
    for (const value of Object.values(ended as object)) expect(typeof value).toBe('string');
    expect(await listedKey(created.id)).toEqual({ ...created, status: 'revoked' });
    const again = await home.call('GET', '/api/v1/agents', { key });
    expect({ status: again.status, code: again.json.code }).toEqual({ status: 401, code: 'auth.revoked' });
  });

  test('what was not sent is null or absent, and a list empty', async () => {
    const created = await home.ask('POST', '/api/v1/api-keys', { name: 'Bare' });
    expect({
      scopes: created.scopes,
      expires_at: created.expires_at ?? null,
      last_used_at: created.last_used_at ?? null,
    }).toEqual({ scopes: [], expires_at: null, last_used_at: null });
  });

  test('are listed oldest first, whole', async () => {
    const made: string[] = [];
    for (let count = 0; count < 5; count += 1)
      made.push((await home.ask('POST', '/api/v1/api-keys', { name: `In order ${count}` })).id);
    const listed = (await home.ask('GET', '/api/v1/api-keys')).map(({ id }: Json) => id) as string[];
    expect(listed.filter((id) => made.includes(id))).toEqual(made);
  });

  async function listedKey(id: string): Promise<Json> {
    return (await home.ask('GET', '/api/v1/api-keys')).find((one: Json) => one.id === id);
  }
});

describe('worker tokens', () => {
  test.each([
    ['Reviewer Bot'],
    ['  spaced  '],
    ['Grüße-你好-👩‍👧'],
    ['e\u0301'],
    ['a.b~c:d@e,f;g=h'],
    ['__proto__'],
    ['worker-token'],
  ])('the handle comes back byte for byte, before its agent has ever come: %j', async (text) => {
    const handle = `${text}${newToken(4)}`;
    const made = await home.ask('POST', '/api/v1/agents/worker-token', { agentId: handle });
    expect(made.agentId).toBe(handle);
    expect(await listedToken(handle)).toMatchObject({ exists: true, agentStatus: 'unregistered', expired: false });
    expect(await home.ask('GET', `/api/v1/agents/${encodeURIComponent(handle)}/token`)).toMatchObject({
      agentId: handle,
      exists: true,
      expired: false,
    });
  });

  test('make → status → list → rotate → revoke: what the first answer said stays put, and the end shows', async () => {
    const handle = `round-${newToken()}`;
    const path = `/api/v1/agents/${handle}/token`;
    expect(await home.ask('GET', path)).toMatchObject({ exists: false });
    const made = await home.ask('POST', '/api/v1/agents/worker-token', { agentId: handle, ttlSeconds: 3_600 });
    const status = await home.ask('GET', path);
    expect(status).toMatchObject({ agentId: handle, exists: true, expired: false, expiresAt: made.expiresAt });
    expect(await home.ask('GET', path)).toEqual(status);
    const { createdAt, expiresAt, lastRotatedAt } = await listedToken(handle);
    expect({ createdAt, expiresAt, lastRotatedAt: lastRotatedAt ?? null }).toEqual({
      createdAt: status.createdAt,
      expiresAt: status.expiresAt,
      lastRotatedAt: status.lastRotatedAt ?? null,
    });
    const rotated = await home.ask('POST', '/api/v1/agents/worker-token', { agentId: handle });
    expect(rotated.token).not.toBe(made.token);
    expect(rotated.expiresAt ?? null).toBeNull();
    const after = await home.ask('GET', path);
    expect({
      createdAt: after.createdAt,
      expiresAt: after.expiresAt ?? null,
      isRotated: typeof after.lastRotatedAt === 'string',
    }).toEqual({ createdAt: status.createdAt, expiresAt: null, isRotated: true });
    for (const _ of ['once', 'again']) expect((await home.call('DELETE', path)).status).toBe(204);
    expect(await home.ask('GET', path)).toMatchObject({ agentId: handle, exists: false });
  });

  async function listedToken(handle: string): Promise<Json> {
    return (await home.ask('GET', '/api/v1/agents/worker-tokens')).find(
      ({ agentId, idSlug }: Json) => idSlug === handle || agentId === handle,
    );
  }
});

describe('runs', () => {
  const input = JSON.parse(ODD_JSON);

  test('D-25, D-28: input and metadata come back with exactly the keys and values that were sent, everywhere and to the worker', async () => {
    const agent = await home.agent();
    const body = `{"agent_id": ${JSON.stringify(agent.handle)}, "channel": "slack", "input": ${ODD_JSON}, "metadata": ${ODD_JSON}}`;
    const created = await asJson('/api/v1/runs', body);
    const path = `/api/v1/runs/${created.run_id}`;
    expect(created).toMatchObject({ agent_id: agent.id, channel: 'slack', transport: 'polling', status: 'queued' });
    const [listed] = await home.ask('GET', `/api/v1/runs?agent_id=${agent.handle}`);
    const detail = await home.ask('GET', path);
    for (const shown of [created, listed, detail]) {
      expect(canonical(shown.input)).toBe(canonical(input));
      expect(canonical(shown.metadata)).toBe(canonical(input));
    }
    const { tool_calls: _, ...echoed } = created; // the contract's detail has none
    expect(canonical({ ...detail, ...echoed })).toBe(canonical(detail));
    expect(canonical(listed)).toBe(canonical(created));
    expect(canonical(await home.ask('GET', path))).toBe(canonical(detail)); // reads touch nothing
    const { job } = await home.frame(agent, 'run_claim', {});
    expect(canonical(job.input)).toBe(canonical(input));
    const cancelled = await home.ask('POST', `${path}/cancel`, { reason: TEXTS[0] });
    expect({
      input: canonical(cancelled.input),
      metadata: canonical(cancelled.metadata),
      created_at: cancelled.created_at,
    }).toEqual({ input: canonical(input), metadata: canonical(input), created_at: created.created_at });
    expect(canonical(await home.ask('POST', `${path}/cancel`))).toBe(canonical(cancelled)); // repeatable
  });

  test('an invoke shows the input as it was sent', async () => {
    const agent = await home.agent();
    const event_id = `  Évènement ${newToken()}  `;
    const invoked = await asJson(
      `/api/v1/agents/${agent.handle}/invoke`,
      `{"event_id": ${JSON.stringify(event_id)}, "input": ${ODD_JSON}, "metadata": ${ODD_JSON}}`,
    );
    expect(invoked.event_id).toBe(event_id);
    const detail = await home.ask('GET', `/api/v1/runs/${invoked.run_id}`);
    expect(detail).toMatchObject({ event_id, transport: 'api_sync', channel: 'api' });
    expect(canonical(detail.input)).toBe(canonical(input));
    expect(canonical(detail.metadata)).toBe(canonical(input));
  });

  test.each([['9007199254740993'], ['-12345678901234567890'], ['1e400']])(
    'a number that a double cannot hold is kept digit for digit or refused, never rounded: %s',
    async (digits) => {
      const agent = await home.agent();
      const body = `{"agent_id": ${JSON.stringify(agent.handle)}, "input": {"number": ${digits}}}`;
      const { status, text, json } = await home.call('POST', '/api/v1/runs', { raw: body });
      if (status === 422) expect(json.detail[0].loc).toEqual(['body', 'input', 'number']);
      else expect(text).toContain(`"number":${digits}`);
    },
  );

  test.each(['ui', 'slack', 'cron', 'webhook', 'api', 'agent', null])(
    'the channel comes back as it was sent, null as api: %s',
    async (channel) => {
      const created = await home.ask('POST', '/api/v1/runs', { agent_id: (await home.agent()).handle, channel });
      expect(created.channel).toBe(channel ?? 'api');
      expect(created.input).toEqual({});
    },
  );

  test('usage comes back as it was sent', async () => {
    const usage = {
      provider: 'openai',
      model: ' m ',
      input_tokens: 9007199254740991,
      output_tokens: 0,
      total_tokens: null,
      cost_amount: 0.1,
      cost_source: 'reported',
      currency: 'EUR',
    };
    const created = await home.ask('POST', '/api/v1/runs', { agent_id: (await home.agent()).handle, usage });
    expect(created.usage).toMatchObject(usage);
    expect((await home.ask('GET', `/api/v1/runs/${created.run_id}`)).usage).toEqual(created.usage);
  });

  async function asJson(path: string, raw: string): Promise<Json> {
    const { status, json, text } = await home.call('POST', path, { raw });
    expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' });
    return json;
  }
});
