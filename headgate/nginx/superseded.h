// What a worker does with the requests that it still has when a reload has replaced its
// configuration: they are counted under the numbers of the new one. Under a shorter window than the
// new workers use, each of them would cut what is kept of its key.
#pragma once

#include <atomic>

#include "headgate/nginx/conf.h"

namespace headgate::nginx {

// See follow_reload().
void take_new_numbers(MainConf& conf) noexcept;

// To be called before a request is decided or settled. Blocks for the time in which the policy file
// is read, once after each reload.
inline void follow_reload(MainConf& conf) noexcept {
  if (conf.in_force == nullptr) return;
  const auto reloads = conf.counters->module().reloads.load(std::memory_order_relaxed);
  if (reloads != conf.reloads_followed) take_new_numbers(conf);
}

// The same, and returns the gate that decides then. nullptr: there is none.
inline const gate::Gate* gate_in_force(MainConf* conf) noexcept {
  if (conf == nullptr || conf->in_force == nullptr) return nullptr;
  follow_reload(*conf);
  return &conf->in_force->gate();
}

}  // namespace headgate::nginx
