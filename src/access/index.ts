export { AccessModule } from './access.module.ts';
export { CatalogueModule } from './catalogue/catalogue.module.ts';
