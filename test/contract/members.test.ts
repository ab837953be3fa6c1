import { describe } from 'vitest';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createMemoryMembers } from '../../tools/simulation/twins/members.ts';
import { memberSuite } from './member-suite.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

describe('members in memory', () => {
  const store = createMemoryMembers();
  memberSuite(() => store);
});

describeOnDynamoDb(
  'members',
  ({ client, tables }) => createMemberStore(client, tables.members, () => new Date()),
  memberSuite,
);
