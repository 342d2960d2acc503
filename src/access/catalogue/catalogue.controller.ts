import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import { listCapabilities, listResourceTypes } from './catalogue.contract.ts';
import { Catalogue } from './catalogue.service.ts';

@Controller()
export class CatalogueController {
  constructor(@Inject(Catalogue) private readonly catalogue: Catalogue) {}

  @Handles(listCapabilities) capabilities() {
    return this.catalogue.capabilities();
  }

  @Handles(listResourceTypes) resourceTypes() {
    return this.catalogue.resourceTypes();
  }
}
