import { Injectable } from '@nestjs/common';
import type { Out } from '../../platform/operation/operation.ts';
import type { listCapabilities, listResourceTypes } from './catalogue.contract.ts';
import { CAPABILITY_CATALOGUE, RESOURCE_TYPES } from './catalogue.policy.ts';

/** What there is to grant: declared by the program, the same for every account. */
@Injectable()
export class Catalogue {
  async capabilities(): Promise<Out<typeof listCapabilities>> {
    return CAPABILITY_CATALOGUE;
  }

  async resourceTypes(): Promise<Out<typeof listResourceTypes>> {
    return RESOURCE_TYPES;
  }
}
