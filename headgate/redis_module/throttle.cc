#include <array>
#include <string_view>

#include "headgate/redis/throttle/throttle_call.h"
#include "headgate/redis/throttle/throttle_limits.h"
#include "headgate/redis_module/clock.h"
#include "headgate/redis_module/commands.h"
#include "headgate/redis_module/stored_key.h"

namespace headgate::redis_module {
namespace {

redis::ThrottleLimits limits;

}  // namespace

int throttle(Context* context, Words words) noexcept {
  constexpr std::size_t least = 5;
  constexpr std::size_t most = 6;
  if (words.size() < least || words.size() > most) return api.wrong_arity(context);
  std::array<std::string_view, most> texts;
  for (std::size_t i = 0; i < words.size(); ++i) texts[i] = bytes_of(words[i]);
  const auto call = redis::ThrottleCall::read(redis::ThrottleDialect::redis_cell,
                                              std::span(texts).first(words.size()));
  if (!call) return refuse(context, call.error().text, shown(call.error().shown));
  const redis::ThrottleLimit* limit = limits.find(call->rate);
  if (limit == nullptr) {
    const auto made = limits.make(call->rate);
    if (!made) return refuse(context, "ERR ", made.error());
    limit = *made;
  }
  StoredKey key(context, words[1], open_to_write);
  if (key.has_other_type()) return refuse(context, wrong_type);
  KeyState state(limit->law, key.bytes());
  if (state.is_foreign()) return refuse(context, wrong_type);
  const Instant now = decision_time();
  const store::Charge charge{
      .law = &limit->law, .key = texts[1], .cost = call->cost(), .op = call->op()};
  const limit::Decision decision = state.apply(charge, now);
  if (state.is_changed()) key.write(state, now);
  api.reply_array(context, 5);
  for (const std::int64_t number : call->reply(*limit, decision)) {
    api.reply_integer(context, number);
  }
  return ok;
}

}  // namespace headgate::redis_module
