#include <cstdint>
#include <optional>

#include "headgate/policy/algorithm.h"
#include "headgate/policy/match/counted.h"
#include "headgate/redis/key_name.h"
#include "headgate/redis/law_reader.h"
#include "headgate/redis/linear_text.h"
#include "headgate/redis_module/bounded_list.h"
#include "headgate/redis_module/clock.h"
#include "headgate/redis_module/commands.h"
#include "headgate/redis_module/stored_key.h"
#include "headgate/redis_module/text_line.h"

namespace headgate::redis_module {
namespace {

using Lines = BoundedList<TextLine, 8>;

void say_name(std::string_view name, Lines& lines) noexcept {
  const auto read = redis::KeyName::parse(name);
  if (!read) return;
  (lines.add() << "policy: ").bytes(read->policy);
  TextLine& line = lines.add() << "partition: ";
  std::string_view parts = read->partition;
  for (bool first = true; !parts.empty(); first = false) {
    const std::string_view rest = parts;
    const auto part = policy::take_counted(parts);
    if (!first) line << ", ";
    line.bytes(part.value_or(rest));
    if (!part) break;
  }
  lines.add() << "algorithm: " << policy::algorithm_name(read->algorithm);
}

// What can be said of a state without its law.
void say_state(std::string_view bytes, Instant now, Lines& lines) noexcept {
  TextLine& line = lines.add() << "state: ";
  if (const auto text = redis::LinearText::parse(bytes)) {
    const Nanos left = text->ns + (text->part > 0 ? 1 : 0) - now.ns;
    if (left <= 0) {
      line << "the quota is full";
    } else {
      line << "the quota is full in ";
      line.seconds(left);
    }
  } else {
    line << bytes.size() << " bytes; with the law as a second argument they can be read";
  }
}

void say_decision(const KeyState& state, const limit::Law& law, std::string_view key, Instant now,
                  Lines& lines) noexcept {
  KeyState seen = state;
  const limit::Decision decision =
      seen.apply({.law = &law, .key = key, .cost = 0, .op = limit::Op::peek}, now);
  lines.add() << "remaining: " << decision.remaining << " of "
              << limit::parameters_of(law).quota.units;
  if (decision.reset != limit::Decision::no_reset) {
    lines.add() << "reset: " << decision.reset << " s";
  }
}

int reply(Context* context, Lines& lines) noexcept {
  api.reply_array(context, static_cast<long>(lines.size()));
  for (const TextLine& line : lines.span()) {
    api.reply_bytes(context, line.text().data(), line.text().size());
  }
  return ok;
}

}  // namespace

int info(Context* context, Words words) noexcept {
  constexpr std::size_t most = 3;  // HG.INFO KEY LAW
  if (words.size() > most) return api.wrong_arity(context);
  Lines lines;
  if (words.size() == 1) {
    lines.add() << "headgate " << HEADGATE_VERSION;
    return reply(context, lines);
  }
  std::optional<limit::Law> law;
  if (words.size() == most) {
    const auto read = redis::read_law(bytes_of(words[2]));
    if (!read) return refuse(context, "ERR law: ", read.error());
    law = *read;
  }
  const std::string_view name = bytes_of(words[1]);
  const StoredKey key(context, words[1], open_to_read);
  if (key.has_other_type()) return refuse(context, wrong_type);
  const Instant now = decision_time();
  say_name(name, lines);
  if (law) {
    const KeyState state(*law, key.bytes());
    if (state.is_foreign()) return refuse(context, wrong_type);
    say_decision(state, *law, name, now, lines);
  }
  if (!key.exists()) {
    lines.add() << "state: none; the quota is full";
    return reply(context, lines);
  }
  say_state(key.bytes(), now, lines);
  if (key.expires_in() >= 0) lines.add() << "expires in: " << key.expires_in() << " ms";
  return reply(context, lines);
}

}  // namespace headgate::redis_module
