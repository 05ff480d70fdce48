#include "headgate/server/http/settle_request.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "headgate/base/json_scanner.h"
#include "headgate/base/whole_number.h"
#include "headgate/policy/file/spelling.h"

namespace headgate::server {
namespace {

constexpr std::string_view members[] = {"reservation", "costs"};

}  // namespace

// The reading of one body.
class SettleReader::Reading {
 public:
  Reading(std::string_view body, SettleReader& to) : in_(body, to.strings_), to_(to) {}

  Result<SettleRequest, DecideFault> read() {
    bool has_reservation = false;
    bool has_costs = false;
    in_.open('{');
    while (in_.more('}')) {
      const auto name = in_.name();
      if (!name) break;
      if (*name == "reservation") {
        once(has_reservation, *name);
        request_.at = in_.at();
        request_.reservation = in_.string().value_or("");
      } else if (*name == "costs") {
        once(has_costs, *name);
        costs();
      } else {
        const auto meant = policy::nearest(*name, members);
        fail(in_.last(), "unknown member " + policy::in_quotes(*name) +
                             (meant ? "; did you mean " + policy::in_quotes(*meant) + '?'
                                    : "; expected " + policy::alternatives(members)));
      }
      if (fault_) break;
    }
    in_.end();
    if (!fault_ && in_.fault()) {
      fault_ = {400, in_.fault()->at, "expected " + std::string(in_.fault()->expected)};
    }
    if (!fault_ && !has_reservation) {
      fail(0, "'reservation' is missing: the text that /v1/reserve answered");
    }
    if (fault_) return Failure<DecideFault>(*std::move(fault_));
    request_.costs = std::span(to_.costs_).first(count_);
    return request_;
  }

 private:
  void fail(std::size_t at, std::string what, unsigned status = 400) {
    // A fault of the scanner is at an earlier byte.
    if (!fault_ && !in_.fault()) fault_ = {status, at, std::move(what)};
    in_.fail(at, "");
  }

  void once(bool& given, std::string_view name) {
    if (given) fail(in_.last(), policy::in_quotes(name) + " is given twice");
    given = true;
  }

  void costs() {
    in_.open('{');
    while (in_.more('}')) {
      const auto name = in_.name();
      if (!name) return;
      const std::size_t at = in_.last();
      const auto given = std::span(to_.costs_).first(count_);
      if (std::ranges::any_of(given, [&](const NamedCost& o) { return o.policy == *name; })) {
        return fail(at, "policy " + policy::in_quotes(*name) + " is given twice");
      }
      if (count_ == to_.costs_.size()) {
        return fail(at, "expected at most " + std::to_string(to_.costs_.size()) + " costs");
      }
      const auto number = in_.number();
      if (!number) return;
      const auto cost = whole_number<std::uint64_t>(*number);
      if (!cost || *cost > DecideReader::cost_max) {
        return fail(in_.last(),
                    "cost " + policy::in_quotes(*number) +
                        ": expected a whole number of quota units, 0 to " +
                        std::to_string(DecideReader::cost_max),
                    422);
      }
      to_.costs_[count_++] = {*name, *cost, at};
    }
  }

  JsonScanner in_;
  SettleReader& to_;
  SettleRequest request_;
  std::size_t count_ = 0;
  std::optional<DecideFault> fault_;
};

Result<SettleRequest, DecideFault> SettleReader::read(std::string_view body) {
  strings_.clear();
  strings_.reserve(body.size());  // no escape is shorter than the bytes that replace it
  return Reading(body, *this).read();
}

}  // namespace headgate::server
