// Any bytes are refused with positioned, printable faults in order, or are policies that match
// requests.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <tuple>

#include "headgate/policy/file/load.h"

namespace {

using namespace headgate::policy;

void require(bool holds) {
  if (!holds) std::abort();
}

// Returns the input as the value of every header field.
class Echo final : public Headers {
 public:
  explicit Echo(std::string_view value) : value_(value) {}
  [[nodiscard]] std::optional<std::string_view> line(std::string_view,
                                                     std::size_t nth) const noexcept override {
    return nth < 2 ? std::optional(value_) : std::nullopt;
  }

 private:
  std::string_view value_;
};

void check_faults(const std::vector<Fault>& faults) {
  require(!faults.empty());
  for (const Fault& fault : faults) {
    for (const char c : fault.what) require(c >= 0x20 && c <= 0x7e);
    // The last fault may be the number of those that were omitted, without a position.
    require(&fault == &faults.back() || &fault == &faults.front() ||
            std::tie((&fault)[-1].line, (&fault)[-1].column) <= std::tie(fault.line, fault.column));
  }
}

void match_request(const PolicySet& set, std::string_view input) {
  const Echo headers(input);
  const Request request{"GET", input, input, input, Address::parse("127.0.0.1"), &headers, {}};
  Scratch scratch;
  for (const Match& match : set.match(request, scratch)) {
    std::string text;
    const auto named = set.named(match.policy->name, match.partition, match.cost, text);
    require(named.has_value());
    // The name of a policy stands for its numbers in force.
    const bool is_beside = match.policy->has_candidate && match.shadow;
    require(named->policy->index == (is_beside ? match.policy->twin() : match.policy->index));
    require(named->shadow == (match.shadow && !is_beside));
    if (match.policy->is_late()) {
      require(set.late_cost(*match.policy, {200, input.size(), &headers}).units <=
              headgate::limit::Quota::cost_max);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Loaded loaded = load_text(input, "fuzz");
  if (loaded) {
    match_request(**loaded, input);
  } else {
    check_faults(loaded.error());
  }
  return 0;
}
