import { describe } from 'vitest';
import { createMemoryMembers } from '../../simulation/twins/members.ts';
import { createMemberStore } from '../../src/adapters/dynamodb/newsletter/member-store.ts';
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
