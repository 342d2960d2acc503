import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { distrustDomain, getTrustedDomains, trustDomain } from './trusted-domains.contract.ts';
import { TrustedDomains } from './trusted-domains.service.ts';

@Controller()
export class TrustedDomainsController {
  constructor(@Inject(TrustedDomains) private readonly domains: TrustedDomains) {}

  @Handles(getTrustedDomains) get(ctx: OpContext) {
    return this.domains.get(ctx);
  }
  @Handles(trustDomain) trust(ctx: OpContext) {
    return this.domains.trust(ctx);
  }
  @Handles(distrustDomain) distrust(ctx: OpContext, input: In<typeof distrustDomain>) {
    return this.domains.distrust(ctx, input);
  }
}
