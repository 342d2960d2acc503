import { Catch, HttpException } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isOutage, isTimeout } from '../db/database-errors.ts';
import {
  DatabaseBusy,
  DatabaseUnavailable,
  Fault,
  HeadersTooLarge,
  InputTooLarge,
  InternalFault,
  MethodNotAllowed,
  RouteNotFound,
  UnsupportedType,
  type FaultType,
} from '../faults/faults.ts';
import { Log, describeError } from '../log/log.ts';

/** What Nest and Fastify refuse by themselves, before any operation. */
const REFUSALS: Readonly<Record<number, FaultType>> = {
  404: RouteNotFound,
  413: InputTooLarge,
  415: UnsupportedType,
  431: HeadersTooLarge,
};

const log = new Log('http');

/** Turns faults into the REST contract's error bodies. Nothing else that is thrown reaches the caller. */
@Catch()
export class HttpFaults implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    sendFault(http.getResponse<FastifyReply>(), faultFrom(error), http.getRequest<FastifyRequest>().id);
  }
}

/** The fault that a failure outside any operation is for the caller. */
export function faultFrom(error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (isTimeout(error)) return DatabaseBusy({ cause: error });
  if (isOutage(error)) return DatabaseUnavailable({ cause: error });
  const status = statusOf(error);
  if (status < 500) return (REFUSALS[status] ?? MethodNotAllowed)({ cause: error });
  log.error('a request failed outside any operation', { error: describeError(error) });
  return InternalFault({ cause: error });
}

export function sendFault(reply: FastifyReply, fault: Fault, requestId: string): void {
  if (fault.retryAfterSeconds !== undefined) void reply.header('retry-after', fault.retryAfterSeconds);
  void reply.header('x-request-id', requestId); // also where Fastify’s own refusal passes over its hooks
  if (fault.status === 401) void reply.header('www-authenticate', 'Bearer realm="signalbox"');
  void reply.status(fault.status).type('application/json; charset=utf-8').send(faultBody(fault, requestId));
}

/** The one error body of the REST wire (contract.md C4). Every 422 is a list, also for meaning. */
export function faultBody(fault: Fault, requestId: string): object {
  return { detail: detailOf(fault), code: fault.code, request_id: requestId };
}

function detailOf(fault: Fault): unknown {
  if (fault.status !== 422) return fault.message;
  return fault.problems.length > 0 ? fault.problems : [{ loc: ['body'], msg: fault.message, type: 'value_error' }];
}

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  return typeof error === 'object' && error !== null && 'statusCode' in error ? Number(error.statusCode) : 500;
}
