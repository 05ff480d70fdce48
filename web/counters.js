// The counters of /metrics of which the dashboard shows rates.

import {single} from './prometheus.js';

export const OUTCOMES = ['admitted', 'denied', 'shadow-denied'];
/** The policy name of decisions whose limit was in the request: CL.THROTTLE. */
export const THROTTLE = 'throttle';
export const ROUND_TRIPS = 'headgate_redis_round_trips_total';

export const requestName = outcome => JSON.stringify([outcome]);
export const decisionName = (policy, outcome) => JSON.stringify([policy, outcome]);
export const withoutRedisName = policy => JSON.stringify(['without Redis', policy]);
export const bucketName = (door, bound) => JSON.stringify(['took', door, bound]);

/**
 * Reads the metrics. Returns
 *
 *   counters     Map of name to value
 *   doors        Map of a door to the bounds of its latency histogram; empty if the server has none
 *   ofRequests   whether requestName() counts requests. An older server counts only decisions: a request
 *                that three policies decide counts three times
 *   throttles    whether there were decisions of THROTTLE
 */
export function readCounters(metrics) {
  const samples = name => metrics.get(name) ?? [];
  const counters = new Map();
  const add = (name, value) => counters.set(name, (counters.get(name) ?? 0) + value);
  const ofRequests = metrics.has('headgate_requests_total');
  for (const outcome of OUTCOMES) counters.set(requestName(outcome), 0);
  for (const {labels, value} of samples('headgate_requests_total')) {
    add(requestName(labels.outcome), value);
  }
  for (const {labels, value} of samples('headgate_decisions_total')) {
    counters.set(decisionName(labels.policy, labels.outcome), value);
    if (!ofRequests) add(requestName(labels.outcome), value);
  }
  let throttles = false;
  for (const {labels, value} of samples('headgate_throttle_decisions_total')) {
    counters.set(decisionName(THROTTLE, labels.outcome), value);
    add(requestName(labels.outcome), value);
    throttles ||= value > 0;
  }
  for (const {labels, value} of samples('headgate_decisions_without_redis_total')) {
    counters.set(withoutRedisName(labels.policy), value);
  }
  if (metrics.has(ROUND_TRIPS)) counters.set(ROUND_TRIPS, single(metrics, ROUND_TRIPS));

  const doors = new Map();
  const below = new Map();
  for (const {labels, value} of samples('headgate_decision_duration_seconds_bucket')) {
    const bound = Number(labels.le.replace('+Inf', 'Infinity'));
    if (!doors.has(labels.door)) doors.set(labels.door, []);
    doors.get(labels.door).push(bound);
    counters.set(bucketName(labels.door, bound), value - (below.get(labels.door) ?? 0));
    below.set(labels.door, value);
  }
  return {counters, doors, ofRequests, throttles};
}
