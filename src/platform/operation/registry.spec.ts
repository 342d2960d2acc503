import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, type Type } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { z } from 'zod';
import { fault } from '../faults/faults.ts';
import { Handles } from './handles.ts';
import { anyone, operation, unaudited, workerToken, type Capability, type Operation } from './operation.ts';
import { Decider, type Decision } from './ports.ts';
import { OperationRegistry } from './registry.ts';

/** A catalogue of one capability. */
class OneCapability extends Decider {
  async rightsOf() {
    return { mode: 'enforce' as const, capabilities: [] };
  }
  async decide(): Promise<Decision> {
    return 'refuse';
  }
  knows(capability: Capability): boolean {
    return capability === 'thing.read';
  }
}

const Missing = fault('test.missing', 'not_found', 'It is not there');
const read = operation({
  id: 'runs.test_read',
  summary: 'Reads.',
  http: { method: 'GET', path: '/things/{thing_id}', status: 200 },
  capability: 'thing.read',
  input: { path: z.strictObject({ thing_id: z.string() }) },
  output: z.object({}),
  faults: [Missing],
});
const report = operation({
  id: 'runs.test_report',
  summary: 'Takes a frame.',
  frame: { type: 'report' },
  capability: workerToken,
  audit: unaudited('a test'),
  input: { body: z.object({}) },
  output: z.object({}),
  faults: [],
});
const write = operation({
  id: 'runs.test_write',
  summary: 'Writes.',
  http: { method: 'POST', path: '/things', status: 201 },
  capability: anyone('a test'),
  audit: unaudited('a test'),
  input: { body: z.object({}) },
  output: z.object({}),
  faults: [],
});

describe('the registry', () => {
  it('finds every operation by its id, its route and its type of frame', async () => {
    const registry = await boot(handling(read, report, write));
    expect(
      registry
        .all()
        .map(({ op }) => op.id)
        .sort(),
    ).toEqual(['runs.test_read', 'runs.test_report', 'runs.test_write']);
    expect(registry.get('runs.test_read').op).toBe(read);
    expect(registry.ofRoute('GET', '/things/:thing_id')?.op).toBe(read);
    expect(registry.ofRoute('POST', '/things/:thing_id')).toBeUndefined();
    expect(registry.ofFrame('report')?.op).toBe(report);
    expect(registry.ofFrame('toString')).toBeUndefined();
    expect(() => registry.get('runs.other')).toThrow('There is no operation runs.other');
  });

  it('stops the boot when a route has no operation', async () => {
    @Controller()
    class Stray {
      @Get('stray') stray(): void {}
    }
    await expect(boot(Stray)).rejects.toThrow('Stray.stray is a route without an operation');
  });

  it.each([
    [
      'a mutation says nothing about audit',
      { ...write, audit: undefined },
      'runs.test_write declares neither audit nor unaudited',
    ],
    [
      'a frame says nothing about audit',
      { ...report, audit: undefined },
      'runs.test_report declares neither audit nor unaudited',
    ],
    [
      'a capability is in no catalogue',
      { ...read, capability: 'thing.write' },
      'runs.test_read asks for the capability thing.write, which is in no catalogue',
    ],
    ['an operation belongs to no area', { ...read, id: 'things.read' }, 'things.read belongs to no area'],
    ['path and schema disagree', { ...read, input: {} }, 'runs.test_read: its path names thing_id, its schema '],
  ])('stops the boot when %s', async (_, declaration, reason) => {
    await expect(boot(handling(declaration as Operation))).rejects.toThrow(reason);
  });

  it.each([
    ['one id', [read, { ...write, id: read.id }], 'Two operations are called runs.test_read'],
    [
      'one route',
      [
        read,
        {
          ...read,
          id: 'runs.other',
          http: { ...read.http, path: '/things/{other}' },
          input: { path: z.object({ other: z.string() }) },
        },
      ],
      'the route GET /things/{}',
    ],
    ['one type of frame', [report, { ...report, id: 'runs.other' }], 'the frame type report'],
  ])('stops the boot when two operations have %s', async (_, declarations, reason) => {
    await expect(boot(handling(...(declarations as Operation[])))).rejects.toThrow(reason);
  });
});

/** A controller with a method for each of the operations. */
function handling(...operations: readonly Operation[]): Type {
  class Handling {}
  for (const [index, op] of operations.entries()) {
    const descriptor = { value: async () => ({}), writable: true, configurable: true, enumerable: false };
    Object.defineProperty(Handling.prototype, `method${index}`, descriptor);
    Handles(op)(Handling.prototype, `method${index}`, descriptor);
  }
  Controller()(Handling);
  return Handling;
}

async function boot(controller: Type): Promise<OperationRegistry> {
  @Module({
    imports: [DiscoveryModule],
    controllers: [controller],
    providers: [OperationRegistry, { provide: Decider, useClass: OneCapability }],
  })
  class TestModule {}
  const app = await NestFactory.createApplicationContext(TestModule, { logger: false, abortOnError: false });
  return app.get(OperationRegistry);
}
