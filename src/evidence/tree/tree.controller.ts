import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getTree } from './tree.contract.ts';
import { RunTrees } from './tree.service.ts';

@Controller()
export class TreeController {
  constructor(@Inject(RunTrees) private readonly trees: RunTrees) {}

  @Handles(getTree) get(ctx: OpContext, input: In<typeof getTree>) {
    return this.trees.get(ctx, input);
  }
}
