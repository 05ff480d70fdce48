// Partition keys: the parts of a request that separate one client's quota from another's.
//
// A store key is the policy's name followed by the parts, each behind its length:
//
//   +------+------+------+--------+------+--------+----
//   | len  | name | len  | part 1 | len  | part 2 | ...     len: LEB128, 1 byte below 128
//   +------+------+------+--------+------+--------+----
//
// so that no two different lists of parts share a key.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/base/result.h"
#include "headgate/policy/fields_used.h"
#include "headgate/policy/match/lazy_request.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// The most components of a key.
inline constexpr std::size_t components_max = 16;

// Calls `write(out)`, which appends, and puts the length of what it wrote in front. Returns where
// the text itself begins.
template <class Write>
std::size_t append_counted(std::string& out, const Write& write) {
  const std::size_t begin = out.size();
  out.push_back('\0');
  write(out);
  std::size_t length = out.size() - begin - 1;
  std::size_t at = begin;
  for (; length >= 0x80; length >>= 7) {
    out[at] = static_cast<char>(length | 0x80);
    out.insert(++at, 1, '\0');
  }
  out[at] = static_cast<char>(length);
  return at + 1;
}

class Component {
 public:
  // From "address/24", "header:x-api-key" and so on; addresses without a prefix of their own
  // take `settings`. The error completes "key component 'TEXT' ...".
  [[nodiscard]] static Result<Component, std::string> parse(std::string_view text,
                                                            const ClientAddress& settings);

  // Appends this part of a request; a part that the request lacks is empty.
  void append(LazyRequest& subject, std::string& out) const;

  // Appends a part that is given as text, normalised as append() would: the client 10.0.0.2 and
  // the text "10.0.0.2" are the same part. Text that this component never produces stays as it is.
  void append_given(std::string_view text, std::string& out) const;

  // Adds the parts of a request that append() reads.
  void add_to(FieldsUsed& fields_used) const;

  // What is wrong with a part in an override, or "". Only an address can be wrong.
  [[nodiscard]] std::string complaint(std::string_view text) const;

  // Equal components append the same.
  friend bool operator==(const Component&, const Component&) = default;

 private:
  enum class Kind : std::uint8_t {
    address,
    header,
    cookie,
    query,
    host,
    path,
    method,
    registered_domain,  // of a header
  };

  [[nodiscard]] unsigned prefix_for(const Address& address) const noexcept;
  void append_address(const Address& address, std::string& out) const;
  [[nodiscard]] std::optional<Address> given_address(std::string_view text) const noexcept;

  Kind kind_ = Kind::address;
  unsigned v4_prefix_ = 32;
  unsigned v6_prefix_ = 64;
  std::string name_;  // of the header, cookie or query argument
};

// Appends parts as one readable text, for people: a single part is itself; of several, ',' stands
// between them and '\' before a ',' or '\' inside. `key_parts` are length-prefixed.
void append_readable(std::string_view key_parts, std::string& out);

// The reverse: the parts that a readable text of `count` parts stands for. Empty where it has
// another number of them. For count >= 2.
[[nodiscard]] std::vector<std::string> split_readable(std::string_view text, std::size_t count);

}  // namespace headgate::policy
