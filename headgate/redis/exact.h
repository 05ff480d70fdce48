// Decides parts exactly: on Redis, by Redis' clock, whatever other machines decide there.
//
// A part with linear charges only is one call of take.lua; those that are decided at the same time
// share calls, because a call costs Redis more than a charge. If a charge is under another law, its
// state is read, decided here and written if it has not changed meanwhile; the linear charges of
// the part are decided in that step. One exchange decides the parts that wait for the same keys
// together.
//
// Where the server has headgate's module, each part is one HG.TAKE instead.
#pragma once

#include <memory>
#include <vector>

#include "headgate/redis/clock.h"
#include "headgate/redis/last_fault.h"
#include "headgate/redis/options.h"
#include "headgate/redis/part.h"
#include "headgate/redis/router.h"
#include "headgate/redis/waiting_parts.h"

namespace headgate::redis {

// Used by one thread. May throw std::bad_alloc.
class Exact {
 public:
  // All outlive this.
  Exact(Router& router, KnownClock& clock, const Options& options, LastFault& fault)
      : router_(router), clock_(clock), options_(options), fault_(fault) {}

  // Decides the part and ends it, perhaps before it returns. Some parts are sent by
  // flush().
  void decide(std::shared_ptr<Part> part);
  void flush();
  // What a part that is not over waits for, as a sentence.
  [[nodiscard]] const char* why_late(const Part& part);
  // Releases the slots that an admitted part has taken and that nobody uses. May throw.
  void release(const Part& late);

 private:
  class ModuleCall;
  class ScriptedCall;
  class Exchange;
  class ReadCall;
  class WriteCall;

  void decide_in_module(std::shared_ptr<Part> part);
  void decide_by_scripts(std::shared_ptr<Part> part);
  void decide_scripted(std::shared_ptr<Part> part);
  void send_scripted(std::vector<std::shared_ptr<Part>> parts, bool denied);
  void begin(WaitingParts::Next next);

  Router& router_;
  KnownClock& clock_;
  const Options& options_;
  LastFault& fault_;
  std::vector<std::shared_ptr<Part>> gathered_;  // until flush()
  std::size_t gathered_charges_ = 0;
  WaitingParts waiting_;       // those with swapped charges
  std::uint64_t answers_ = 0;  // to exchanges
};

}  // namespace headgate::redis
