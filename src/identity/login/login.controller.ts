import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { KeyExchange } from './key-exchange.service.ts';
import * as contract from './login.contract.ts';
import { Login } from './login.service.ts';

@Controller()
export class LoginController {
  constructor(
    @Inject(Login) private readonly signIn: Login,
    @Inject(KeyExchange) private readonly exchanging: KeyExchange,
  ) {}

  @Handles(contract.startSignIn) start(ctx: OpContext, input: In<typeof contract.startSignIn>) {
    return this.signIn.start(ctx, input);
  }
  @Handles(contract.oidcLogin) login(ctx: OpContext, input: In<typeof contract.oidcLogin>) {
    return this.signIn.login(ctx, input);
  }
  @Handles(contract.oidcCallback) callback(ctx: OpContext) {
    return this.signIn.callback(ctx);
  }
  @Handles(contract.signInProblem) problem(ctx: OpContext, input: In<typeof contract.signInProblem>) {
    return this.signIn.problem(ctx, input);
  }
  @Handles(contract.logoutByLink) logoutByLink(ctx: OpContext) {
    return this.signIn.logout(ctx);
  }
  @Handles(contract.logout) logout(ctx: OpContext) {
    return this.signIn.logout(ctx);
  }
  @Handles(contract.exchangeKey) exchange(ctx: OpContext) {
    return this.exchanging.exchange(ctx);
  }
  @Handles(contract.devLogin) dev() {
    return this.exchanging.entrance();
  }
  @Handles(contract.devLoginPage) devPage(ctx: OpContext) {
    return this.exchanging.page(ctx);
  }
}
