import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { pathParameters, pathShape, routerPath } from '../http/route.ts';
import { AREAS } from './areas.ts';
import { OPERATION } from './handles.ts';
import { areaOf, isRead, type Handler, type Operation } from './operation.ts';
import { Decider } from './ports.ts';

export interface Registered {
  readonly op: Operation;
  readonly handle: Handler;
}

/** Every operation of the process. Finds them once, at boot, and refuses to boot on an unsound set. */
@Injectable()
export class OperationRegistry implements OnModuleInit {
  private readonly byId = new Map<string, Registered>();
  private readonly byFrame = new Map<string, Registered>();
  private readonly byRoute = new Map<string, Registered>();

  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(MetadataScanner) private readonly scanner: MetadataScanner,
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(Decider) private readonly decider: Decider,
  ) {}

  onModuleInit(): void {
    for (const { instance } of this.discovery.getControllers()) if (instance) this.scan(instance as object);
    assertUnique(
      'route',
      this.all().flatMap(({ op }) => (op.http ? `${op.http.method} ${pathShape(op.http.path)}` : [])),
    );
    assertUnique(
      'frame type',
      this.all().flatMap(({ op }) => op.frame?.type ?? []),
    );
  }

  all(): Registered[] {
    return [...this.byId.values()];
  }

  get(id: string): Registered {
    const registered = this.byId.get(id);
    if (!registered) throw new Error(`There is no operation ${id}`);
    return registered;
  }

  ofFrame(type: string): Registered | undefined {
    return this.byFrame.get(type);
  }

  /** By the router's own form of the path. */
  ofRoute(method: string, routerPath: string): Registered | undefined {
    return this.byRoute.get(`${method} ${routerPath}`);
  }

  private scan(controller: object): void {
    const prototype = Object.getPrototypeOf(controller) as Record<string, Handler>;
    for (const name of this.scanner.getAllMethodNames(prototype)) {
      const method = prototype[name];
      if (!method) continue;
      const op = this.reflector.get<Operation | undefined>(OPERATION, method);
      if (op) this.add(op, method.bind(controller));
      else if (Reflect.getMetadata(PATH_METADATA, method) !== undefined) {
        throw new Error(`${controller.constructor.name}.${name} is a route without an operation`);
      }
    }
  }

  private add(op: Operation, handle: Handler): void {
    if (this.byId.has(op.id)) throw new Error(`Two operations are called ${op.id}`);
    if (!AREAS.includes(areaOf(op))) throw new Error(`${op.id} belongs to no area; there are ${AREAS.join(', ')}`);
    if (!isRead(op) && !op.audit) throw new Error(`${op.id} declares neither audit nor unaudited('why')`);
    if (typeof op.capability === 'string' && !this.decider.knows(op.capability)) {
      throw new Error(`${op.id} asks for the capability ${op.capability}, which is in no catalogue`);
    }
    assertSamePath(op);
    const registered = { op, handle };
    this.byId.set(op.id, registered);
    if (op.frame) this.byFrame.set(op.frame.type, registered);
    if (op.http) this.byRoute.set(`${op.http.method} ${routerPath(op.http.path)}`, registered);
  }
}

function assertSamePath({ id, http, input }: Operation): void {
  if (!http) return;
  if (/\/:/.test(http.path)) throw new Error(`${id}: a parameter of its path is written {name}, not :name`);
  const [inRoute, inSchema] = [pathParameters(http.path), Object.keys(input.path?.shape ?? {})];
  if (inRoute.toSorted().join() !== inSchema.toSorted().join()) {
    throw new Error(`${id}: its path names ${inRoute.join()}, its schema ${inSchema.join()}`);
  }
}

function assertUnique(what: string, values: readonly string[]): void {
  const twice = values.find((value, index) => values.indexOf(value) !== index);
  if (twice !== undefined) throw new Error(`Two operations have the ${what} ${twice}`);
}
