import { describe, expect, it } from '@jest/globals';
import { pathParameters, pathShape, routerPath } from './route.ts';

describe('a path', () => {
  it.each([
    ['/api/v1/runs/{run_id}/cancel', '/api/v1/runs/:run_id/cancel'],
    ['/a2a/{agent_id}/message:send', '/a2a/:agent_id/message::send'],
    ['/a2a/{agent_id}/tasks/{task_id}:cancel', '/a2a/:agent_id/tasks/:task_id(^[^:]+)::cancel'],
    ['/healthz', '/healthz'],
  ])('%s is written for the router', (path, written) => {
    expect(routerPath(path)).toBe(written);
  });

  it('may hold one parameter a segment', () => {
    expect(() => routerPath('/{a}-{b}')).toThrow('may hold one');
    expect(() => routerPath('/{a')).toThrow('may hold one');
  });

  it('names its parameters in order', () => {
    expect(pathParameters('/a/{one}/b/{two}:cancel')).toEqual(['one', 'two']);
  });

  it('has the shape of every path that a router cannot tell from it', () => {
    expect(pathShape('/a/{one}')).toBe(pathShape('/a/{other}'));
    expect(pathShape('/a/{one}')).not.toBe(pathShape('/b/{one}'));
  });
});
