#include <cstdint>
#include <type_traits>
#include <variant>

#include "headgate/redis/all_or_none.h"
#include "headgate/redis_module/bounded_list.h"
#include "headgate/redis_module/clock.h"
#include "headgate/redis_module/commands.h"
#include "headgate/redis_module/cost.h"
#include "headgate/redis_module/law_cache.h"
#include "headgate/redis_module/stored_key.h"
#include "headgate/store/store.h"

namespace headgate::redis_module {
namespace {

using limit::Decision;
using limit::Op;

constexpr std::size_t keys_max = store::Bundle::charges_max;
constexpr std::size_t words_each = 3;  // KEY LAW COST

LawCache laws;

std::uint64_t quota_of(const limit::Law& law) noexcept {
  return std::visit(
      []<class L>(const L& one) -> std::uint64_t {
        if constexpr (std::is_same_v<L, limit::Closed>) {
          return 0;
        } else {
          return one.quota();
        }
      },
      law);
}

// The charges of one call, decided together.
class TakeCall {
 public:
  TakeCall(Context* context, Words words, Op usual) noexcept
      : context_(context), words_(words), usual_(usual) {}

  int run() noexcept {
    if (words_.size() < 1 + words_each || words_.size() % words_each != 1) {
      return api.wrong_arity(context_);
    }
    if (words_.size() > 1 + keys_max * words_each)
      return refuse(context_, "ERR more than 128 keys");
    for (std::size_t at = 1; at < words_.size(); at += words_each) {
      if (!read_charge(at) || !read_state(at)) return ok;
    }
    decide();
    if (usual_ != Op::peek) write();
    reply();
    return ok;
  }

 private:
  // Each returns false after it has replied with an error. `at`: the word that is the key.
  [[nodiscard]] bool read_charge(std::size_t at) noexcept;
  [[nodiscard]] bool read_state(std::size_t at) noexcept;
  void decide() noexcept;
  void write() noexcept;
  void reply() noexcept;

  bool fault(std::string_view text, std::string_view more = {}) noexcept {
    refuse(context_, text, more);
    return false;
  }

  Context* const context_;
  const Words words_;
  const Op usual_;
  BoundedList<limit::Law, keys_max> laws_;
  BoundedList<store::Charge, keys_max> charges_;
  BoundedList<StoredKey, keys_max> keys_;
  BoundedList<KeyState, keys_max> states_;
  BoundedList<Decision, keys_max> decisions_;
  bool denied_ = false;  // elsewhere
  bool admitted_ = false;
  Instant now_;
};

bool TakeCall::read_charge(std::size_t at) noexcept {
  const auto law = laws.find(bytes_of(words_[at + 1]));
  if (!law) return fault("ERR law: ", law.error());
  const std::string_view written = bytes_of(words_[at + 2]);
  const auto cost = Cost::read(written, usual_, usual_ == Op::spend);
  if (!cost) {
    return fault("ERR the cost is no number of units; expected 0 to 999999999999999: ",
                 shown(written));
  }
  const std::string_view key = bytes_of(words_[at]);
  for (const store::Charge& other : charges_.span()) {
    if (other.key == key) return fault("ERR a key occurs twice: ", shown(key));
  }
  denied_ = denied_ || cost->denied;
  charges_.add(store::Charge{.law = &laws_.add(*law),
                             .key = key,
                             .cost = cost->units,
                             .op = cost->op,
                             .since = cost->since});
  return true;
}

bool TakeCall::read_state(std::size_t at) noexcept {
  const StoredKey& key =
      keys_.add(context_, words_[at], usual_ == Op::peek ? open_to_read : open_to_write);
  if (key.has_other_type()) return fault(wrong_type);
  const KeyState& state = states_.add(laws_[laws_.size() - 1], key.bytes());
  return !state.is_foreign() || fault(wrong_type);
}

void TakeCall::decide() noexcept {
  now_ = decision_time();
  for (std::size_t i = 0; i < charges_.size(); ++i) decisions_.add();
  if (denied_) {
    redis::decide_denied<KeyState>(charges_.span(), states_.span(), now_, decisions_.span());
    return;
  }
  BoundedList<KeyState, keys_max> taken;
  for (std::size_t i = 0; charges_.size() > 1 && i < charges_.size(); ++i) taken.add(states_[i]);
  admitted_ = redis::decide_all_or_none<KeyState>(charges_.span(), states_.span(), taken.span(),
                                                  now_, decisions_.span());
}

void TakeCall::write() noexcept {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].is_changed()) keys_[i].write(states_[i], now_);
  }
}

void TakeCall::reply() noexcept {
  constexpr Nanos nanos_per_micro = 1000;
  const auto integer = [&](auto value) {
    api.reply_integer(context_, static_cast<long long>(value));
  };
  api.reply_array(context_, static_cast<long>(3 + charges_.size()));
  integer(admitted_ ? 1 : 0);
  integer(now_.ns / nanos_per_second);
  integer(now_.ns % nanos_per_second / nanos_per_micro);
  for (std::size_t i = 0; i < charges_.size(); ++i) {
    const Decision& decision = decisions_[i];
    const bool never = decision.wait == Decision::never;
    api.reply_array(context_, 6);
    integer(decision.admitted ? 1 : 0);
    integer(quota_of(laws_[i]));
    integer(decision.remaining);
    integer(decision.reset == Decision::no_reset ? -1 : static_cast<long long>(decision.reset));
    integer(never ? -1 : decision.wait / nanos_per_second);
    integer(never ? 0 : decision.wait % nanos_per_second);
  }
}

}  // namespace

int take(Context* context, Words words, Op usual) noexcept {
  return TakeCall(context, words, usual).run();
}

}  // namespace headgate::redis_module
