import { Stack, Validations } from 'aws-cdk-lib';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

/** A permission that needs a `*` in one of its resources, and the reason. */
export interface WildcardPermission {
  readonly statement: PolicyStatement;
  readonly resource: string;
  readonly reason: string;
}

/** States for cdk-nag why a permission of the role has a `*` in its resource. */
export function acknowledgeWildcard(role: Construct, resource: string, reason: string): void {
  const name = readable(Stack.of(role).resolve(resource));
  Validations.of(role).acknowledge({ id: `AwsSolutions-IAM5[Resource::${name}]`, reason });
}

/** An ARN as cdk-nag writes it in a finding: references in angle brackets. */
export function readable(resolved: unknown): string {
  if (typeof resolved === 'string') return resolved;
  if (typeof resolved === 'object' && resolved !== null) {
    if ('Ref' in resolved) return `<${resolved.Ref}>`;
    if ('Fn::GetAtt' in resolved && Array.isArray(resolved['Fn::GetAtt'])) {
      return `<${resolved['Fn::GetAtt'].join('.')}>`;
    }
    if ('Fn::Join' in resolved && Array.isArray(resolved['Fn::Join'])) {
      const [delimiter, parts]: readonly unknown[] = resolved['Fn::Join'];
      if (Array.isArray(parts)) return parts.map(readable).join(String(delimiter));
    }
  }
  return JSON.stringify(resolved);
}
