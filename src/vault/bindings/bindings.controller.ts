import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { bindCredential, listBindings, listCredentialsOfAgent, unbindCredential } from './bindings.contract.ts';
import { CredentialBindings } from './bindings.service.ts';

@Controller()
export class BindingsController {
  constructor(@Inject(CredentialBindings) private readonly bindings: CredentialBindings) {}

  @Handles(listBindings) list(ctx: OpContext, input: In<typeof listBindings>) {
    return this.bindings.list(ctx, input);
  }
  @Handles(bindCredential) bind(ctx: OpContext, input: In<typeof bindCredential>) {
    return this.bindings.bind(ctx, input);
  }
  @Handles(unbindCredential) unbind(ctx: OpContext, input: In<typeof unbindCredential>) {
    return this.bindings.unbind(ctx, input);
  }
  @Handles(listCredentialsOfAgent) ofAgent(ctx: OpContext, input: In<typeof listCredentialsOfAgent>) {
    return this.bindings.ofAgent(ctx, input);
  }
}
