import { Global, Module } from '@nestjs/common';
import { Decider, ResourceKinds, RoleAssigner } from '../platform/operation/ports.ts';
import { Decisions } from './decisions/decisions.service.ts';
import { Resources } from './resources/resources.service.ts';
import { Roles } from './roles/roles.service.ts';

/** May they. Global, because the operation runner and the room identity find their ports here. */
@Global()
@Module({
  providers: [
    Decisions,
    Resources,
    { provide: ResourceKinds, useExisting: Resources },
    { provide: Decider, useExisting: Decisions },
    { provide: RoleAssigner, useClass: Roles },
  ],
  exports: [Decider, ResourceKinds, RoleAssigner],
})
export class AccessModule {}
