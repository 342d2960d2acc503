import { Global, Module } from '@nestjs/common';
import { Decider, ResourceKinds, RoleAssigner } from '../platform/operation/ports.ts';
import { CatalogueController } from './catalogue/catalogue.controller.ts';
import { Catalogue } from './catalogue/catalogue.service.ts';
import { Decisions } from './decisions/decisions.service.ts';
import { PrincipalsController } from './principals/principals.controller.ts';
import { Principals } from './principals/principals.service.ts';
import { QuestionsController } from './questions/questions.controller.ts';
import { Questions } from './questions/questions.service.ts';
import { Resources } from './resources/resources.service.ts';
import { Roles } from './roles/roles.service.ts';

/** May they. Global, because the operation runner and the room identity find their ports here. */
@Global()
@Module({
  controllers: [CatalogueController, PrincipalsController, QuestionsController],
  providers: [
    Catalogue,
    Principals,
    Questions,
    Decisions,
    Resources,
    { provide: ResourceKinds, useExisting: Resources },
    { provide: Decider, useExisting: Decisions },
    { provide: RoleAssigner, useClass: Roles },
  ],
  exports: [Decider, ResourceKinds, RoleAssigner],
})
export class AccessModule {}
