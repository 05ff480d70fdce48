// One key's state under any law: read from what Redis keeps, changed by charges, written as bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "headgate/limit/law.h"
#include "headgate/redis/record_log.h"
#include "headgate/store/charge.h"

namespace headgate::redis {

// A value. `law` must outlive it. Not thread-safe.
class KeyState {
 public:
  // `bytes`: what Redis keeps under redis_key(); empty: no state. Bytes that no such state has are
  // none, either. May throw std::bad_alloc.
  KeyState(const limit::Law& law, std::string_view bytes);

  // Applies a charge, with another op and cost than its own.
  limit::Decision apply(const store::Charge& charge, limit::Op op, std::uint64_t cost, Instant now);
  limit::Decision apply(const store::Charge& charge, Instant now) {
    return apply(charge, charge.op, charge.cost, now);
  }

  // What Redis is to keep; empty: nothing.
  [[nodiscard]] std::string bytes() const;
  // From when on the state is not needed [ns]. REQUIRES: the law has a log, or bytes() are not
  // empty.
  [[nodiscard]] Nanos full_at() const;

 private:
  template <class L>
  using Words = std::optional<typename L::State>;

  const limit::Law* law_;
  // Of a law with a log, the log; of a law without a state, std::monostate.
  std::variant<std::monostate, Words<limit::LinearWhole>, Words<limit::LinearExact>,
               Words<limit::Exponential>, Words<limit::FixedWindow>,
               Words<limit::SlidingWindowCounter>, RecordLog>
      state_;
};

}  // namespace headgate::redis
