import { KMSClient } from '@aws-sdk/client-kms';
import { createKmsKeyWrap } from '../../../../src/adapters/kms/kms-key-wrap.ts';
import type { KeyWrap } from '../../../../src/adapters/sealing/data-keys.ts';
import { limits } from './lean.ts';

/** In a module of its own, so that it is loaded only when a data key is wrapped or unwrapped. */
export function createKmsAccess(keyArn: string): KeyWrap {
  return createKmsKeyWrap(new KMSClient({ maxAttempts: 3, requestHandler: limits(2_000) }), keyArn);
}
