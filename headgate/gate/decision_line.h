// One line of the decision log (`decisions` in the policy file): the text, which all doors share.
//
// A line is printable ASCII with a newline at its end, and at most decision_line_max long: values
// are cut, and what still does not fit is left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/base/siphash.h"
#include "headgate/base/writer.h"
#include "headgate/gate/decision_context.h"
#include "headgate/policy/request.h"
#include "headgate/policy/settings.h"

namespace headgate::gate {

// PIPE_BUF of Linux: a pipe takes so much whole, or not at all.
inline constexpr std::size_t decision_line_max = 4096;
using DecisionLineRoom = std::array<char, decision_line_max>;

// What a door knows of a request beside its decision. Empty: unknown.
struct DecisionScene {
  std::string_view door{};  // "nginx", "http", "resp", "grpc" or "spoe"
  std::int64_t unix_ms = 0;
  std::string_view method{};
  std::string_view host{};
  std::string_view path{};    // without query, which often has secrets
  std::string_view client{};  // its address; written only if keys are written plain
};

// A decision for which no policy of the file made the limit.
struct LoneDecision {
  std::string_view policy{};     // the name that stands for it
  std::string_view partition{};  // what is shown of the key
  Hash128 opaque{};              // what is shown in its place
  std::uint64_t cost = 0;
  bool admitted = false;
  std::uint64_t remaining = 0;
  std::optional<std::uint64_t> wait{};  // [s], if waiting helps
};

// Writes the client's address, as policies see it, into `room`; empty if it has none.
using AddressRoom = std::array<char, policy::Address::text_max>;
[[nodiscard]] std::string_view client_text(const policy::Request& request,
                                           const policy::Settings& settings,
                                           AddressRoom& room) noexcept;

// Returns the length of the longest beginning of `lines` that a pipe takes whole or not at all: of
// whole lines, unless the first one is too long.
[[nodiscard]] std::size_t whole_lines(std::string_view lines) noexcept;

// Whether the log has a line of such a decision, unless sampling leaves it out. Only spending is
// logged, and only where a policy decided.
[[nodiscard]] bool has_line(const policy::DecisionLogSettings& log,
                            const DecisionContext& context) noexcept;
[[nodiscard]] bool has_line(const policy::DecisionLogSettings& log,
                            const LoneDecision& decision) noexcept;

// Writes the line of a decision for which has_line() is true. The result is in `room`.
std::string_view write_line(const policy::DecisionLogSettings& log, const DecisionScene& scene,
                            const DecisionContext& context, DecisionLineRoom& room) noexcept;
std::string_view write_line(const policy::DecisionLogSettings& log, const DecisionScene& scene,
                            const LoneDecision& decision, DecisionLineRoom& room) noexcept;

}  // namespace headgate::gate
