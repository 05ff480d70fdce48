// The parts of a request and its response that policies read. All members are views: the door owns
// the data and must keep it while they are in use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headgate/base/ascii.h"
#include "headgate/policy/address/address.h"

namespace headgate::policy {

// Header look-up, implemented by each door over its own request.
class Headers {
 public:
  // Returns the value of the nth field line (counted from 0) with this name, or std::nullopt.
  // `name` is in lower case; the door compares without regard to case. The white space around the
  // value may be left.
  [[nodiscard]] virtual std::optional<std::string_view> line(std::string_view name,
                                                             std::size_t nth) const noexcept = 0;

  // Returns line() without the white space around it. Keys, conditions and costs read values in
  // this way alone, so that all doors agree.
  [[nodiscard]] std::optional<std::string_view> value(std::string_view name,
                                                      std::size_t nth) const noexcept {
    const auto found = line(name, nth);
    return found ? std::optional(trimmed(*found)) : std::nullopt;
  }

 protected:
  ~Headers() = default;
};

struct Request {
  std::string_view method;                  // as received
  std::string_view host;                    // without port
  std::string_view path;                    // as received, without query and fragment
  std::string_view query;                   // raw, without '?'
  std::optional<Address> peer;              // std::nullopt: connected through a Unix socket
  const Headers* headers = nullptr;         // must not be null in a call of PolicySet
  std::optional<std::uint64_t> body_bytes;  // length of the content; std::nullopt: not known
  bool peer_is_certain =
      true;  // false: `peer` may stand for another one, which is hidden behind it
  // Where `peer` is not certain because the door was told different clients: each of them.
  std::array<std::optional<Address>, 2> claimed = {};
};

// Numbers in the JSON of a response's body, for doors that read it as it passes.
class BodyNumbers {
 public:
  // Returns the number at `path`, one of FieldsUsed::response_members; std::nullopt: it has none.
  [[nodiscard]] virtual std::optional<std::uint64_t> number(
      std::string_view path) const noexcept = 0;

 protected:
  ~BodyNumbers() = default;
};

// A response that has ended, either completely or because one side closed the connection.
struct Response {
  unsigned status = 0;               // 0: no response was sent
  std::uint64_t body_bytes = 0;      // content bytes that were sent, counted as sent (for example
                                     // compressed), without header section and framing
  const Headers* headers = nullptr;  // of the upstream's response; nullptr: there was none
  const BodyNumbers* numbers = nullptr;  // of its body; nullptr: it was not read
  bool is_whole = true;  // false: it ended early, so that `numbers` may be less than in the end
};

}  // namespace headgate::policy
