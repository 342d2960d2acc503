import { Module } from '@nestjs/common';
import { CatalogueController } from './catalogue.controller.ts';
import { Catalogue } from './catalogue.service.ts';

/** What there is to grant. Nobody needs anything of it, so it is not part of the global module of the room. */
@Module({ controllers: [CatalogueController], providers: [Catalogue] })
export class CatalogueModule {}
