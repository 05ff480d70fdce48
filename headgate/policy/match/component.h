// Components of partition keys: the parts of a request that separate one client's quota from
// another's.
//
// A store key is the policy's name followed by the parts, each preceded by its length:
//
//   +------+------+------+--------+------+--------+----
//   | len  | name | len  | part 1 | len  | part 2 | ...     len: LEB128, 1 byte below 128
//   +------+------+------+--------+------+--------+----
//
// so that two different lists of parts never have the same key.
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
#include "headgate/policy/match/request_value.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

// The most components of a key: twice the number of kinds. Bounds the length of a key and the work
// for it.
inline constexpr std::size_t components_max = 16;

class Component {
 public:
  enum class Kind : std::uint8_t {
    address,
    header,
    cookie,
    query,
    host,
    path,
    method,
    registered_domain,  // of the host name in a header
  };

  // Reads "address/24", "header:x-api-key" and so on. An address without a prefix of its own uses
  // the one of `settings`. The error completes "key component 'TEXT' ...".
  [[nodiscard]] static Result<Component, std::string> parse(std::string_view text,
                                                            const ClientAddress& settings);

  // Appends this part of a request. Appends nothing if the request lacks it.
  void append(LazyRequest& request, std::string& out) const;

  // Appends a part that is given as text, in the form that append() produces: the text "10.0.0.2"
  // and the client 10.0.0.2 are the same part, as are the texts "/Login/" and "/login" of a path.
  void append_given(std::string_view text, std::string& out) const;

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  // Of the header, cookie or query argument; otherwise empty.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Of an address: the addresses whose part is that of the text, which is an address or a block; or
  // std::nullopt if it is neither.
  [[nodiscard]] std::optional<AddressBlock> block(std::string_view text) const noexcept;

  [[nodiscard]] bool is_address() const noexcept { return kind_ == Kind::address; }
  [[nodiscard]] bool is_path() const noexcept { return kind_ == Kind::path; }
  // Whether this is the host, or its registered domain.
  [[nodiscard]] bool is_of_host() const noexcept {
    const bool is_of_header = kind_ == Kind::header || kind_ == Kind::registered_domain;
    return kind_ == Kind::host || (is_of_header && name_ == "host");
  }

  // Whether requests have this part only if the client sends it: a header, cookie or argument.
  [[nodiscard]] bool is_optional() const noexcept {
    return kind_ == Kind::header || kind_ == Kind::cookie || kind_ == Kind::query;
  }
  // REQUIRES: is_optional().
  [[nodiscard]] Presence presence(const Request& request) const noexcept;

  // Adds the request fields that append() reads.
  void add_to(FieldsUsed& fields_used) const;

  // Returns what is wrong with the part of an override's id, or "". An address can be wrong, a
  // value that would stand for requests without one, and a host that would stand for all malformed
  // ones. The text completes "id 'TEXT' ...".
  [[nodiscard]] std::string complaint(std::string_view text) const;

  // Of an address: whether all addresses of the block are the same part.
  [[nodiscard]] bool is_in_one_partition(const AddressBlock& block) const noexcept {
    return block.prefix >= prefix_for(block.lowest);
  }

  // Equal components append the same.
  friend bool operator==(const Component&, const Component&) = default;

 private:
  [[nodiscard]] unsigned prefix_for(const Address& address) const noexcept;
  void append_address(const Address& address, std::string& out) const;
  void append_request_header(LazyRequest& request, std::string& out) const;
  void append_given_header(std::string_view text, std::string& out) const;
  [[nodiscard]] std::optional<Address> given_address(std::string_view text) const noexcept;

  Kind kind_ = Kind::address;
  unsigned v4_prefix_ = 32;
  unsigned v6_prefix_ = 64;
  std::string name_;  // of the header, cookie or query argument
};

// Appends length-prefixed parts as one readable text. A single part is unchanged. Several parts are
// separated by ',', with a '\' before each ',' or '\' inside a part.
void append_readable(std::string_view key_parts, std::string& out);

// The reverse for count >= 2: returns the parts of a readable text, or none if their number is not
// `count`.
[[nodiscard]] std::vector<std::string> split_readable(std::string_view text, std::size_t count);

}  // namespace headgate::policy
