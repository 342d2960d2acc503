import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../operation/handles.ts';
import { docsPage, healthz, openApiDocument, readyz } from './system.contract.ts';
import { SystemPages } from './system.service.ts';

@Controller()
export class SystemController {
  constructor(@Inject(SystemPages) private readonly pages: SystemPages) {}

  @Handles(healthz) health() {
    return this.pages.health();
  }
  @Handles(readyz) ready() {
    return this.pages.ready();
  }
  @Handles(openApiDocument) openApi() {
    return this.pages.openApi();
  }
  @Handles(docsPage) docs() {
    return this.pages.docs();
  }
}
