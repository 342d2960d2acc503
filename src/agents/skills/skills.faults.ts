import { fault } from '../../platform/faults/faults.ts';

export const SkillNotFound = fault('skill.not_found', 'not_found', 'No agent has such a skill');
