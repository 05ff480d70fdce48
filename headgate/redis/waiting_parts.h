// The parts that wait until their swapped keys are in no other exchange.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headgate/base/text_map.h"
#include "headgate/redis/batch.h"

namespace headgate::redis {

// Each key has a queue, and is in at most one exchange at a time. A part stands in the queues of
// all of its swapped keys. It is next when it is the first in each and none of them is in an
// exchange: all queues are in the order in which parts come, so no two wait for each other. Used by
// one thread. May throw std::bad_alloc.
class WaitingParts {
 public:
  struct Next {
    std::vector<Batch> batches;  // their keys are in an exchange from now on
    Batch::Parts unawaited;      // nobody waits for these any more
  };

  // Adds a part, and takes what can be decided now.
  [[nodiscard]] Next add(std::shared_ptr<Part> part);
  // The exchange of these keys is over. Takes what can be decided now.
  [[nodiscard]] Next release(std::span<const std::string> keys);

 private:
  struct Queue {
    std::deque<std::shared_ptr<Part>> parts;
    bool in_exchange = false;
  };
  struct Search {
    std::vector<std::string> keys;  // whose queues are to be looked at
    Next found;
  };

  [[nodiscard]] Next search(std::vector<std::string> keys);
  // The first part for which somebody waits; nullptr: none. Takes off those before it.
  [[nodiscard]] Part* first(Queue& queue, Search& search);
  [[nodiscard]] bool is_next(const Part& part, Search& search);
  // Takes the part off all of its queues.
  [[nodiscard]] std::shared_ptr<Part> take(const Part& part);
  // The part, which is next, and others that share keys with it.
  [[nodiscard]] Batch gather(const Part& part, Search& search);

  TextMap<Queue> queues_;
};

}  // namespace headgate::redis
