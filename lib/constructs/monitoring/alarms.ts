import { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';
import { alarmTable } from './alarm-catalogue.ts';
import type { AlarmSubjects } from './alarm-spec.ts';

export interface AlarmsProps extends AlarmSubjects {
  readonly config: StageConfig;
  readonly topic: ITopic;
}

/** The alarms of the table. The description of each has its severity and its section of the runbook. */
export class Alarms extends Construct {
  readonly all: readonly Alarm[];

  constructor(scope: Construct, id: string, { config, topic, ...subjects }: AlarmsProps) {
    super(scope, id);
    const action = new SnsAction(topic);
    this.all = alarmTable(config, subjects).map(({ name, of, severity, meaning, ...alarm }) => {
      const fullName = of === undefined ? name : `${name}-${of}`;
      const made = new Alarm(this, fullName, {
        evaluationPeriods: 1,
        ...alarm,
        alarmName: `notification-retry-${config.stage}-${fullName}`,
        alarmDescription: `[${severity}] ${meaning}. What to do: docs/runbook.md#${name}`,
      });
      made.addAlarmAction(action);
      // Operators also want to know when the cause is over.
      made.addOkAction(action);
      return made;
    });
  }
}
