import { synthesizeForEmulator } from './assembly.ts';
import { type DeployedStack, stackOn } from './deployed-stack.ts';
import { type Ministack, startMinistack } from './ministack.ts';

/** Timeouts of tests with the emulator are written in these. */
export const MINUTES = 60_000;

/** A new emulator with the stack on it. Stopping the emulator ends both. */
export interface Deployment {
  readonly emulator: Ministack;
  readonly stack: DeployedStack;
  /** The directory of what was deployed. */
  readonly assembly: string;
}

interface DeploySettings {
  readonly enforceIam: boolean;
  /** Values of the stage's configuration; its defaults otherwise. */
  readonly context?: Readonly<Record<string, string>>;
  /** Who signs the tokens of the console's users. */
  readonly issuer?: string;
}

/** Deploys the stack as the README says, which takes minutes. The emulator does not outlive a deployment that fails. */
export async function deployOnEmulator({ enforceIam, context, issuer }: DeploySettings): Promise<Deployment> {
  const [assembly, emulator] = await Promise.all([
    synthesizeForEmulator(context, issuer),
    startMinistack({ enforceIam }),
  ]);
  const stack = stackOn(emulator);
  try {
    await stack.prepare(assembly);
    await stack.deploy(assembly);
  } catch (error) {
    await emulator.stop();
    throw error;
  }
  return { emulator, stack, assembly };
}

/** What the emulator's log says of refused calls, with its surroundings. */
export function refusedCalls(emulator: Ministack): readonly string[] {
  return emulator.log().match(/.{0,300}(AccessDenied|not authorized|UnrecognizedClient).{0,300}/g) ?? [];
}
