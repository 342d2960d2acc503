import { listCapabilities, listResourceTypes } from '../../../src/access/catalogue/catalogue.contract.ts';
import { nothing, sample } from './sample.ts';

export const accessSamples = [sample(listCapabilities, nothing), sample(listResourceTypes, nothing)];
