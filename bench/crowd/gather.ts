import { mintToken } from '../client/crew.ts';
import { JsonClient } from '../client/json-client.ts';
import type { Product } from '../stage/product.ts';
import type { CrowdAgent } from './orders.ts';

/** Makes `count` agents of the bench's own with a worker token each. */
export async function makeAgents(product: Product, name: string, count: number): Promise<readonly CrowdAgent[]> {
  const caller = new JsonClient(product.url, product.apiKey);
  const agents: CrowdAgent[] = [];
  while (agents.length < count) {
    const handle = `${name}-${agents.length}`;
    agents.push({ handle, token: await mintToken(caller, handle) });
  }
  caller.close();
  return agents;
}
