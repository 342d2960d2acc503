import { describe, expect, it } from '@jest/globals';
import { fingerprintOf, manifestHash, readManifest } from './manifest.policy.ts';

const MANIFEST = {
  agent_id: 'echo',
  name: 'Echo',
  description: 'Repeats its prompt',
  version: '1.0.0',
  labels: { team: 'tests' },
  tools: ['search'],
  input_schema: { type: 'object' },
  agent_card: { name: 'Echo', capabilities: { streaming: true } },
  source_commit: 'abc',
  source_dirty: false,
};

describe('a manifest', () => {
  it('K-1: becomes the columns of its agent', () => {
    expect(readManifest(MANIFEST)).toEqual({
      claimedName: 'echo',
      name: 'Echo',
      description: 'Repeats its prompt',
      version: '1.0.0',
      owner: '',
      repo: '',
      sourcePath: '',
      sourceCommit: 'abc',
      sourceDirty: false,
      model: null,
      labels: { team: 'tests' },
      tools: ['search'],
      defaultInput: {},
      inputSchema: { type: 'object' },
      capabilities: { streaming: true },
      agentCard: { name: 'Echo', capabilities: { streaming: true } },
      triggers: [],
    });
  });

  it('reads whatever is of another type as if it had not been said', () => {
    const odd = {
      agent_id: 7,
      name: ['x'],
      version: null,
      labels: { a: 1, b: {} },
      tools: [1, 'x'],
      agent_card: 'card',
      source_dirty: 'yes',
      triggers: {},
    };
    expect(readManifest(odd)).toMatchObject({
      ...{
        claimedName: '',
        name: '',
        version: 'dev',
        labels: { a: '1' },
        tools: ['x'],
        agentCard: {},
        sourceDirty: null,
        triggers: [],
      },
    });
  });

  it('keeps a schema that is none, so that the agent can show what is wrong with it', () => {
    expect(readManifest({ input_schema: ['no', 'schema'] }).inputSchema).toEqual(['no', 'schema']);
  });

  it('prefers the capabilities that it says itself over those of its card', () => {
    expect(readManifest({ ...MANIFEST, capabilities: { chat: true } }).capabilities).toEqual({ chat: true });
  });
});

describe('whether two registrations say the same', () => {
  const hash = manifestHash(MANIFEST, 'skills');
  const print = fingerprintOf(MANIFEST, 'skills');

  // What differs: the manifest, or the manifest and the version of the agent.
  it.each([
    ['the same in another order', Object.fromEntries(Object.entries(MANIFEST).toReversed()), 'skills', 'neither'],
    ['another pod', { ...MANIFEST, pod_name: 'pod-2', namespace: 'n', cluster_name: 'c' }, 'skills', 'neither'],
    ['another address', { ...MANIFEST, endpoint_url: 'http://10.0.0.2:8010' }, 'skills', 'neither'],
    ['more slots', { ...MANIFEST, max_concurrent: 4 }, 'skills', 'neither'],
    ['another owner', { ...MANIFEST, owner: 'somebody' }, 'skills', 'manifest'],
    ['another schema', { ...MANIFEST, input_schema: {} }, 'skills', 'manifest'],
    ['another version', { ...MANIFEST, version: '2.0.0' }, 'skills', 'both'],
    ['another card', { ...MANIFEST, agent_card: { name: 'Echo' } }, 'skills', 'both'],
    ['another commit', { ...MANIFEST, source_commit: 'def' }, 'skills', 'both'],
    ['other skills', MANIFEST, 'other skills', 'both'],
  ])('K-4: %s', (_difference, manifest, skillsHash, changed) => {
    expect(manifestHash(manifest, skillsHash).equals(hash)).toBe(changed === 'neither');
    expect(fingerprintOf(manifest, skillsHash).equals(print)).toBe(changed !== 'both');
  });
});
