import { z } from 'zod';

/** Why somebody wants it: where a reason may be given, and the body may be absent. */
export const ReasonRequest = z
  .object({ reason: z.string().max(2_000).nullish() })
  .meta({ id: 'ReasonRequest' })
  .nullish();
