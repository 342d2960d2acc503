import { HttpCode, RequestMapping, RequestMethod, SetMetadata, applyDecorators } from '@nestjs/common';
import { routerPath } from '../http/route.ts';
import type { InputParts } from './input.ts';
import type { Handler, Operation } from './operation.ts';
import type { Output } from './output.ts';

export const OPERATION = Symbol('operation');

/**
 * Binds a controller method to an operation: its route, its status and its name in the registry. The compiler checks
 * that the method takes the operation's input and returns its output.
 */
export function Handles<Parts extends InputParts, Declared extends Output>(op: Operation<Parts, Declared>) {
  const decorate = applyDecorators(...(op.http ? routeOf(op.http) : []), SetMetadata(OPERATION, op));
  return <Method extends Handler<Parts, Declared>>(
    target: object,
    name: string,
    method: TypedPropertyDescriptor<Method>,
  ): void => {
    decorate(target, name, method);
  };
}

function routeOf({ method, path, status }: NonNullable<Operation['http']>): MethodDecorator[] {
  return [RequestMapping({ method: RequestMethod[method], path: routerPath(path) }), HttpCode(status)];
}
