#include "headgate/server/http/decide_request.h"

#include <optional>

#include "headgate/base/json_scanner.h"
#include "headgate/base/whole_number.h"
#include "headgate/policy/file/spelling.h"

namespace headgate::server {
namespace {

constexpr std::string_view all_members[] = {"checks", "op"};
constexpr std::string_view check_members[] = {"policy", "key", "cost"};
constexpr std::string_view ops[] = {"spend", "peek", "refund", "release"};

std::optional<limit::Op> op_named(std::string_view name) {
  if (name == "spend") return limit::Op::spend;
  if (name == "peek") return limit::Op::peek;
  if (name == "refund" || name == "release") return limit::Op::refund;
  return std::nullopt;
}

std::string unknown(const char* what, std::string_view word,
                    std::span<const std::string_view> known) {
  std::string text = "unknown " + std::string(what) + ' ' + policy::in_quotes(word);
  if (const auto meant = policy::nearest(word, known)) {
    return text + "; did you mean " + policy::in_quotes(*meant) + '?';
  }
  return text + "; expected " + policy::alternatives(known);
}

}  // namespace

// The reading of one body.
class DecideReader::Reading {
 public:
  Reading(std::string_view body, DecideKind kind, DecideReader& to)
      : in_(body, to.strings_), kind_(kind), to_(to) {}

  Result<DecideRequest, DecideFault> read() {
    in_.open('{');
    bool has_op = false;
    while (in_.more('}')) {
      const auto name = in_.name();
      if (!name) break;
      if (*name == "checks") {
        once(count_ > 0, *name);
        checks();
      } else if (*name == "op" && kind_ == DecideKind::decide) {
        once(has_op, *name);
        has_op = true;
        op();
      } else {
        fail(in_.last(), unknown("member", *name, members()));
      }
      if (fault_) break;
    }
    in_.end();
    if (!fault_ && in_.fault()) {
      fault_ = {400, in_.fault()->at, "expected " + std::string(in_.fault()->expected)};
    }
    if (!fault_ && count_ == 0) {
      fail(0, "'checks' is missing: a list of {'policy', 'key', 'cost'}");
    }
    if (fault_) return Failure<DecideFault>(*std::move(fault_));
    for (std::size_t i = 0; i < count_; ++i) {
      if (to_.has_cost_[i]) continue;
      if (kind_ == DecideKind::reserve) {
        to_.checks_[i].cost = std::nullopt;
      } else {
        to_.checks_[i].cost = op_ == limit::Op::peek ? 0 : 1;
      }
    }
    return DecideRequest{op_, std::span(to_.checks_).first(count_)};
  }

 private:
  [[nodiscard]] std::span<const std::string_view> members() const noexcept {
    return std::span(all_members).first(kind_ == DecideKind::decide ? 2 : 1);
  }

  void fail(std::size_t at, std::string what, unsigned status = 400) {
    // A fault of the scanner is at an earlier byte.
    if (!fault_ && !in_.fault()) fault_ = {status, at, std::move(what)};
    in_.fail(at, "");
  }

  void once(bool given, std::string_view name) {
    if (given) fail(in_.last(), policy::in_quotes(name) + " is given twice");
  }

  void op() {
    const auto name = in_.string();
    if (!name) return;
    if (const auto known = op_named(*name)) {
      op_ = *known;
    } else {
      fail(in_.last(), unknown("op", *name, ops));
    }
  }

  void checks() {
    const std::size_t at = in_.at();
    in_.open('[');
    while (in_.more(']')) {
      if (count_ == to_.checks_.size()) {
        return fail(in_.at(), "expected at most " + std::to_string(to_.checks_.size()) + " checks");
      }
      to_.checks_[count_] = {};
      to_.has_cost_[count_] = false;
      check(to_.checks_[count_]);
      ++count_;
    }
    if (count_ == 0 && !in_.fault()) fail(at, "expected at least one check");
  }

  void check(gate::Check& check) {
    const std::size_t at = in_.at();
    bool has_policy = false;
    bool has_key = false;
    bool& has_cost = to_.has_cost_[count_];
    in_.open('{');
    while (in_.more('}')) {
      const auto name = in_.name();
      if (!name) return;
      if (*name == "policy") {
        once(has_policy, *name);
        has_policy = true;
        check.policy = in_.string().value_or("");
      } else if (*name == "key") {
        once(has_key, *name);
        has_key = true;
        check.key = in_.string().value_or("");
      } else if (*name == "cost") {
        once(has_cost, *name);
        has_cost = true;
        cost(check);
      } else {
        fail(in_.last(), unknown("member", *name, check_members));
      }
    }
    if (!has_policy && !in_.fault()) fail(at, "'policy' is missing: a policy's name");
  }

  void cost(gate::Check& check) {
    const auto number = in_.number();
    if (!number) return;
    const auto cost = whole_number<std::uint64_t>(*number);
    check.cost = cost.value_or(0);
    if (!cost || *cost > cost_max) {
      fail(in_.last(),
           "cost " + policy::in_quotes(*number) +
               ": expected a whole number of quota units, 0 to " + std::to_string(cost_max),
           422);
    }
  }

  JsonScanner in_;
  const DecideKind kind_;
  DecideReader& to_;
  limit::Op op_ = limit::Op::spend;
  std::size_t count_ = 0;
  std::optional<DecideFault> fault_;
};

Result<DecideRequest, DecideFault> DecideReader::read(std::string_view body, DecideKind kind) {
  strings_.clear();
  strings_.reserve(body.size());  // no escape is shorter than the bytes that replace it
  return Reading(body, kind, *this).read();
}

}  // namespace headgate::server
