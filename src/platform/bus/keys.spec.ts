import { expect, it } from '@jest/globals';
import { accountKey, splitAccountKey } from './keys.ts';

it.each(['wrk_1', 'a/b', '', '/', 'ü/'])('the key of an account and the id %j can be taken apart again', (id) => {
  expect(splitAccountKey(accountKey('acct_1', id))).toEqual(['acct_1', id]);
});
