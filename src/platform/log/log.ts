import type { LoggerService } from '@nestjs/common';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/**
 * Everything that looks like a bearer secret of ours, or follows the word Bearer, and passwords inside URLs. None of them
 * holds a quote or a backslash, so a match never reaches beyond its own text in a line of JSON.
 */
const SECRETS =
  /\b(?:sk|swt)_[\w-]{8,}|\bsrt_[\w.-]{8,}|(?<=\bBearer\s+)[^\s"\\]+|(?<=:\/\/[^\s:/@"\\]*:)[^\s/"\\]+(?=@)/gi;

/** A text in which no credential is left. Log lines pass through it whole, so a new call site cannot forget to. */
export function withoutSecrets(text: string): string {
  return text.replace(SECRETS, '***');
}

let threshold: LogLevel = 'info';

/** Sets the lowest level that is written; the configuration calls it once, at start. */
export function setLogLevel(level: LogLevel): void {
  threshold = level;
}

/** Writes one JSON object a line to standard output. `fields` hold ids and counts, never bodies. */
export class Log {
  private readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  debug(message: string, fields: object = {}): void {
    this.write('debug', message, fields);
  }
  info(message: string, fields: object = {}): void {
    this.write('info', message, fields);
  }
  warn(message: string, fields: object = {}): void {
    this.write('warn', message, fields);
  }
  error(message: string, fields: object = {}): void {
    this.write('error', message, fields);
  }

  private write(level: LogLevel, msg: string, fields: object): void {
    if (ORDER.indexOf(level) < ORDER.indexOf(threshold)) return;
    const line = JSON.stringify({ time: new Date().toISOString(), level, name: this.name, msg, ...fields });
    process.stdout.write(`${withoutSecrets(line)}\n`);
  }
}

/** A cause in words, for a log line: the stack where there is one. */
export function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Nest's own messages in our form. Its chatter about modules and routes is of interest only when debugging. */
export class NestLog implements LoggerService {
  private readonly logger = new Log('nest');

  log(message: unknown): void {
    this.logger.debug(String(message));
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.logger.error(String(message), { detail: rest.map(describeError).join(' ') });
  }
  warn(message: unknown): void {
    this.logger.warn(String(message));
  }
}
