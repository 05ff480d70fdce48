#include "headgate/gate/decision_line.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "headgate/base/hex.h"
#include "headgate/base/json_text.h"
#include "headgate/field/sf/write.h"
#include "headgate/gate/gate.h"
#include "headgate/policy/address/client_address.h"

namespace headgate::gate {
namespace {

using policy::DecisionLogSettings;
using policy::LogFormat;
using policy::LoggedDecisions;
using policy::PartitionKey;

// [bytes] Longer values are cut. Most paths and keys are far shorter, and a few long ones leave
// room for the rest of the line.
constexpr std::size_t path_max = 512;
constexpr std::size_t value_max = 256;
// What a line says of the request has at most one half, so that a policy, with an escaped key, has
// room in the other one.
constexpr std::size_t head_max = decision_line_max / 2;
// For what ends a line: `,"more":127]}` and a newline.
constexpr std::size_t end_max = 32;

std::string_view cut(std::string_view text, std::size_t most) noexcept {
  return text.substr(0, most);
}

std::string_view word(Outcome outcome) noexcept {
  Verdict verdict;
  verdict.outcome = outcome;
  return verdict.word();
}

// Writes digits with leading zeros.
void put_padded(Writer& out, std::uint64_t value, unsigned width) noexcept {
  std::uint64_t next = 10;
  for (unsigned digits = 1; digits < width; ++digits, next *= 10) {
    if (value < next) out.put('0');
  }
  out.put_decimal(value);
}

// RFC 3339 in UTC, with milliseconds.
void put_time(Writer& out, std::int64_t unix_ms) noexcept {
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds(unix_ms)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  const auto put = [&](auto value, unsigned width, char after) {
    put_padded(out, static_cast<std::uint64_t>(value), width);
    out.put(after);
  };
  put(static_cast<int>(date.year()), 4, '-');
  put(static_cast<unsigned>(date.month()), 2, '-');
  put(static_cast<unsigned>(date.day()), 2, 'T');
  put(clock.hours().count(), 2, ':');
  put(clock.minutes().count(), 2, ':');
  put(clock.seconds().count(), 2, '.');
  put(clock.subseconds().count(), 3, 'Z');
}

// What a line says of one policy.
struct Part {
  std::string_view policy;
  std::string_view partition;
  Hash128 opaque;
  std::uint64_t cost;
  Outcome outcome;
};

struct Head {
  std::string_view outcome;
  std::optional<std::uint64_t> remaining;
  std::optional<std::uint64_t> wait;
};

// Both formats: begin(), part() for each policy, end(). A part that does not fit is only counted.
class LineWriter {
 public:
  LineWriter(const DecisionLogSettings& log, DecisionLineRoom& room) noexcept
      : log_(log), room_(room), out_(std::span(room).first(room.size() - end_max)) {}

  void begin(const DecisionScene& scene, const Head& head) noexcept {
    if (json()) {
      out_.put(R"({"time":")");
      put_time(out_, scene.unix_ms);
      out_.put('"');
    } else {
      put_time(out_, scene.unix_ms);
    }
    member("door", scene.door);
    member("outcome", head.outcome);
    member("remaining", head.remaining);
    member("wait", head.wait);
    member_if_known("method", cut(scene.method, value_max));
    member_if_known("host", cut(scene.host, value_max));
    member_if_known("path", cut(scene.path, path_max));
    if (log_.key == PartitionKey::plain) member_if_known("client", scene.client);
    if (json()) out_.put(R"(,"policies":[)");
  }

  void part(const Part& part) noexcept {
    const Writer::Mark before = out_.mark();
    if (json()) {
      out_.put(parts_ > 0 ? R"(,{"name":)" : R"({"name":)");
      write_json_bytes(out_, part.policy);
    } else {
      member("policy", part.policy);
    }
    if (log_.key == PartitionKey::plain) {
      member("key", cut(part.partition, value_max));
    } else if (log_.key == PartitionKey::opaque) {
      std::array<char, 32> text{};
      Writer opaque(text);
      field::sf::write_bytes(opaque,
                             {reinterpret_cast<const char*>(&part.opaque), sizeof part.opaque});
      member("key", opaque.text());
    }
    member("cost", std::optional(part.cost));
    member("decision", word(part.outcome));
    if (json()) out_.put('}');
    if (out_.overflow()) {
      out_.rewind(before);
      ++left_out_;
    } else {
      ++parts_;
    }
  }

  std::string_view end() noexcept {
    const std::size_t so_far = out_.text().size();
    const std::span<char> rest = std::span<char>(room_).subspan(so_far);
    Writer tail(rest);
    if (json()) tail.put(']');
    if (left_out_ > 0) {
      tail.put(json() ? R"(,"more":)" : " more=");
      tail.put_decimal(left_out_);
    }
    tail.put(json() ? "}\n" : "\n");
    return {room_.data(), so_far + tail.text().size()};
  }

 private:
  [[nodiscard]] bool json() const noexcept { return log_.format == LogFormat::json; }

  void name(std::string_view name) noexcept {
    out_.put(json() ? R"(,")" : " ");
    out_.put(name);
    out_.put(json() ? R"(":)" : "=");
  }
  void member(std::string_view of, std::string_view value) noexcept {
    name(of);
    if (json()) return write_json_bytes(out_, value);
    if (is_plain(value)) return out_.put(value);
    out_.put('"');
    for (const char c : value) {
      if (c == '"' || c == '\\') out_.put('\\');
      if (c >= 0x20 && c <= 0x7e) {
        out_.put(c);
      } else {
        out_.put("\\x");
        put_hex(out_, c);
      }
    }
    out_.put('"');
  }
  void member(std::string_view of, std::optional<std::uint64_t> value) noexcept {
    name(of);
    if (value) {
      out_.put_decimal(*value);
    } else {
      out_.put(json() ? "null" : "-");
    }
  }
  // Left out as a whole if it is too long.
  void member_if_known(std::string_view of, std::string_view value) noexcept {
    if (value.empty()) return;
    const Writer::Mark before = out_.mark();
    member(of, value);
    if (out_.overflow() || out_.text().size() > head_max) out_.rewind(before);
  }
  // Whether a text needs no quotes between spaces.
  static bool is_plain(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
      return c > 0x20 && c <= 0x7e && c != '"' && c != '\\' && c != '=';
    });
  }

  const DecisionLogSettings& log_;
  DecisionLineRoom& room_;
  Writer out_;
  std::size_t parts_ = 0;
  std::size_t left_out_ = 0;
};

Outcome outcome_of(const PolicyDecision& one) noexcept {
  if (one.decision.admitted) return Outcome::admitted;
  return one.enforced ? Outcome::denied : Outcome::shadow_denied;
}

}  // namespace

std::string_view client_text(const policy::Request& request, const policy::Settings& settings,
                             AddressRoom& room) noexcept {
  const auto client = policy::client_of(request, settings.client_address);
  if (!client) return {};
  return {room.data(), client->write(room.data(), client->bits())};
}

std::size_t whole_lines(std::string_view lines) noexcept {
  if (lines.size() <= decision_line_max) return lines.size();
  const std::size_t newline = lines.rfind('\n', decision_line_max - 1);
  return newline == lines.npos ? decision_line_max : newline + 1;
}

bool has_line(const DecisionLogSettings& log, const DecisionContext& context) noexcept {
  if (context.op() != limit::Op::spend) return false;
  if (context.decided() == 0 && context.verdict.refusal == policy::Refusal::none) return false;
  return log.which == LoggedDecisions::all || context.verdict.outcome != Outcome::admitted;
}

bool has_line(const DecisionLogSettings& log, const LoneDecision& decision) noexcept {
  return log.which == LoggedDecisions::all || !decision.admitted;
}

std::string_view write_line(const DecisionLogSettings& log, const DecisionScene& scene,
                            const DecisionContext& context, DecisionLineRoom& room) noexcept {
  const Verdict& verdict = context.verdict;
  LineWriter line(log, room);
  line.begin(scene, {verdict.word(), verdict.remaining, verdict.retry_after});
  // Those that denied first: others may not fit.
  const auto add = [&](Outcome outcome) {
    for (std::size_t i = 0; i < context.decided(); ++i) {
      const PolicyDecision one = context.decision(i);
      if (outcome_of(one) != outcome) continue;
      const policy::Match& match = one.match;
      line.part({match.policy->name, match.partition, context.gate().opaque(match.key), match.cost,
                 outcome});
    }
  };
  add(Outcome::denied);
  add(Outcome::shadow_denied);
  if (log.which == LoggedDecisions::all) add(Outcome::admitted);
  return line.end();
}

std::string_view write_line(const DecisionLogSettings& log, const DecisionScene& scene,
                            const LoneDecision& decision, DecisionLineRoom& room) noexcept {
  const Outcome outcome = decision.admitted ? Outcome::admitted : Outcome::denied;
  LineWriter line(log, room);
  line.begin(scene, {word(outcome), decision.remaining, decision.wait});
  line.part({decision.policy, decision.partition, decision.opaque, decision.cost, outcome});
  return line.end();
}

}  // namespace headgate::gate
