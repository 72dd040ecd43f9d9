import type { State } from '../trace/types';
import { ensembleScene, type EnsembleScene } from './ensemble';
import { kafkaScene, type KafkaScene } from './kafka';
import { ledgersScene, type LedgersScene } from './ledgers';
import { disturbedLinks, type DisturbedLink } from './links';
import { pulsarScene, type PulsarScene } from './pulsar';

/**
 * The whole picture at one instant, as plain data made anew from the state: views draw it, tables and sentences tell it. It shares
 * nothing with the state, which goes on changing.
 */
export interface Scene {
  ensemble: EnsembleScene;
  kafka: KafkaScene;
  pulsar: PulsarScene;
  storage: LedgersScene;
  /** Records that nodes could not keep: the picture has holes. */
  dropped: number;
  links: DisturbedLink[];
}

export function sceneOf(state: State): Scene {
  return {
    ensemble: ensembleScene(state),
    kafka: kafkaScene(state),
    pulsar: pulsarScene(state),
    storage: ledgersScene(state),
    dropped: Object.values(state.dropped).reduce((sum, count) => sum + count, 0),
    links: disturbedLinks(state),
  };
}
