/**
 * What an error of an AWS client tells: the service's code as its name, or Node's code where there was no answer, which is
 * sometimes only in its cause. An error that is not from the network either is a defect of our code.
 */
export function sdkFacts(error: unknown) {
  if (!(error instanceof Error)) {
    return { code: 'Unknown', text: String(error), status: undefined, fromNetwork: false, retryAfter: undefined };
  }
  const { $metadata, $response, code, cause } = error as Error & {
    $metadata?: { httpStatusCode?: number };
    $response?: { headers?: Record<string, string> };
    code?: unknown;
  };
  const status = $metadata?.httpStatusCode;
  const inner = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const nodeCode = [code, inner].find((value) => typeof value === 'string');
  return {
    code: status === undefined ? String(nodeCode ?? error.name) : error.name,
    text: error.message,
    fromNetwork: nodeCode !== undefined || error.name === 'AbortError' || error.name === 'TimeoutError',
    retryAfter: $response?.headers?.['retry-after'],
    status,
  };
}
