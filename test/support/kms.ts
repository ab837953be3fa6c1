import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { KMSClient } from '@aws-sdk/client-kms';
import { startLoopback } from './loopback.ts';

export const KEY_ARN = 'arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001';

/** KMS on loopback: it wraps under a key of its own and authenticates the encryption context, as KMS does. */
export async function startKms() {
  const server = await startLoopback();
  const master = randomBytes(32);
  let refusal: { readonly code: string; readonly times: number } | undefined;
  server.answer = (response, { headers, body }) => {
    const refused = refusal !== undefined && refusal.times > 0 ? refusal.code : undefined;
    if (refusal !== undefined) refusal = { ...refusal, times: refusal.times - 1 };
    const answer = refused ?? answerTo(String(headers['x-amz-target']), JSON.parse(body), master);
    if (typeof answer === 'string') response.writeHead(400).end(JSON.stringify({ __type: answer, message: 'refused' }));
    else response.end(JSON.stringify(answer));
  };
  return {
    client: new KMSClient({
      region: 'us-east-1',
      endpoint: server.url,
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      maxAttempts: 1,
    }),
    /** The operations that were called since the last call. */
    calls: () =>
      server.received.splice(0).map(({ headers, body }) => ({
        operation: String(headers['x-amz-target']).split('.')[1],
        context: JSON.parse(body).EncryptionContext,
        key: JSON.parse(body).KeyId,
      })),
    /** Answers the next calls with an error, such as `ThrottlingException`. */
    refuse(code: string, times = 1): void {
      refusal = { code, times };
    },
    close: () => server.close(),
  };
}

/** An answer, or the code of an error. */
function answerTo(target: string, input: Record<string, unknown>, master: Buffer): object | string {
  if (input['KeyId'] !== KEY_ARN) return 'NotFoundException';
  const aad = Buffer.from(JSON.stringify(input['EncryptionContext']));
  if (target.endsWith('GenerateDataKey')) {
    const key = randomBytes(32);
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', master, nonce).setAAD(aad);
    const wrapped = Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]);
    return { KeyId: KEY_ARN, Plaintext: key.toString('base64'), CiphertextBlob: wrapped.toString('base64') };
  }
  try {
    const wrapped = Buffer.from(String(input['CiphertextBlob']), 'base64');
    const decipher = createDecipheriv('aes-256-gcm', master, wrapped.subarray(0, 12)).setAAD(aad);
    decipher.setAuthTag(wrapped.subarray(-16));
    const key = Buffer.concat([decipher.update(wrapped.subarray(12, -16)), decipher.final()]);
    return { KeyId: KEY_ARN, Plaintext: key.toString('base64') };
  } catch {
    return 'InvalidCiphertextException';
  }
}
