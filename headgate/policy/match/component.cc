#include "headgate/policy/match/component.h"

#include <algorithm>
#include <iterator>

#include "headgate/policy/address/peer_address.h"
#include "headgate/policy/file/spelling.h"
#include "headgate/policy/match/host.h"
#include "headgate/policy/match/path.h"
#include "headgate/policy/match/registered_domain.h"
#include "headgate/policy/match/request_value.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

// The error of Component::parse() for a text that is no kind of component.
std::string unknown_component(std::string_view text) {
  struct Kind {
    std::string_view word;
    std::string_view form;
  };
  constexpr Kind kinds[] = {{"address", "address or address/N"},
                            {"header", "header:NAME"},
                            {"cookie", "cookie:NAME"},
                            {"query", "query:NAME"},
                            {"host", "host alone"},
                            {"path", "path alone"},
                            {"method", "method alone"},
                            {"registered-domain", "registered-domain:header:NAME"}};
  const std::size_t end = std::min(text.find_first_of(":/"), text.size());
  const std::string_view word = text.substr(0, end);
  std::vector<std::string_view> known;
  for (const Kind& kind : kinds) {
    if (kind.word == word) return "is not complete; expected " + std::string(kind.form);
    known.push_back(kind.word);
  }
  if (const auto near = nearest(word, known)) {
    return "is unknown; did you mean " + in_quotes(std::string(*near).append(text.substr(end))) +
           "?";
  }
  return "is unknown; expected address, address/N, header:NAME, cookie:NAME, query:NAME, host, "
         "path, method or registered-domain:header:NAME";
}

// Upstreams that ignore the case of a method (Symfony, Werkzeug) must not see one client as many.
void append_method(std::string_view method, std::string& out) {
  std::transform(method.begin(), method.end(), std::back_inserter(out), upper);
}

}  // namespace

Result<Component, std::string> Component::parse(std::string_view text,
                                                const ClientAddress& settings) {
  Component component;
  component.v6_prefix_ = settings.ipv6_prefix;
  const auto failure = [](std::string why) { return Failure<std::string>(std::move(why)); };
  const auto starts = [&text](std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
  };

  if (text == "address") return component;
  if (text == "host" || text == "path" || text == "method") {
    component.kind_ = text == "host" ? Kind::host : text == "path" ? Kind::path : Kind::method;
    return component;
  }
  if (starts("address/")) {
    const auto prefix = parse_integer(text, 1, 128);
    if (!prefix) return failure("has a prefix that " + prefix.error());
    // A prefix of at most 32 is that of IPv4 addresses, a longer one that of IPv6 addresses.
    (*prefix <= 32 ? component.v4_prefix_ : component.v6_prefix_) = static_cast<unsigned>(*prefix);
    return component;
  }
  if (starts("query:")) {
    component.kind_ = Kind::query;
    if (text.empty()) return failure("has no name; expected query:NAME");
    component.name_ = text;
    return component;
  }
  if (starts("cookie:")) {
    component.kind_ = Kind::cookie;
    if (!is_token(text)) return failure("does not name a cookie; expected cookie:NAME");
    component.name_ = text;
    return component;
  }
  const bool registered = starts("registered-domain:");
  if (starts("header:")) {
    component.kind_ = registered ? Kind::registered_domain : Kind::header;
    if (!is_header_name(text)) {
      return failure("does not name a header; expected header:NAME, of up to 255 characters");
    }
    component.name_ = lowered(text);
    if (registered) load_public_suffixes();
    return component;
  }
  if (registered) {
    return failure("has no source; expected registered-domain:header:NAME");
  }
  return failure(unknown_component(text));
}

void Component::append(LazyRequest& request, std::string& out) const {
  switch (kind_) {
    case Kind::address:
      if (const auto& client = request.client().address) append_address(*client, out);
      return;
    case Kind::header:
      append_request_header(request, out);
      return;
    case Kind::cookie:
      append_cookie(*request.raw().headers, name_, out);
      return;
    case Kind::query:
      append_argument(request.raw(), name_, out);
      return;
    case Kind::host:
      append_host(request.raw().host, out);
      return;
    case Kind::path:
      out.append(request.path().key());
      return;
    case Kind::method:
      append_method(request.raw().method, out);
      return;
    case Kind::registered_domain: {
      const std::size_t begin = out.size();
      append_request_header(request, out);
      keep_registered_domain(out, begin);
      return;
    }
  }
}

// Of the Host that the client chose, with any port and in any case, only the name counts.
void Component::append_request_header(LazyRequest& request, std::string& out) const {
  if (name_ != "host") return append_header(*request.raw().headers, name_, out);
  if (!request.raw().host.empty()) {
    out.append(request.host());
  } else if (const auto line = request.raw().headers->value(name_, 0)) {
    append_host(without_port(*line), out);
  }
}

Presence Component::presence(const Request& request) const noexcept {
  if (kind_ == Kind::query) return presence_of_argument(request, name_);
  return kind_ == Kind::cookie ? presence_of_cookie(*request.headers, name_)
                               : presence_of_header(*request.headers, name_);
}

void Component::append_given(std::string_view text, std::string& out) const {
  switch (kind_) {
    case Kind::address: {
      auto address = given_address(text);
      if (!address) address = peer_address(text);
      if (address) {
        append_address(*address, out);
      } else {
        out.append(text);
      }
      return;
    }
    case Kind::header:
      append_given_header(text, out);
      return;
    case Kind::cookie:
      append_cookie_value(name_, text, out);
      return;
    case Kind::host:
      append_host(without_port(text), out);
      return;
    case Kind::path: {
      std::string buffer;
      out.append(FoldedPath(text, buffer).key());
      return;
    }
    case Kind::registered_domain: {
      const std::size_t begin = out.size();
      append_given_header(text, out);
      keep_registered_domain(out, begin);
      return;
    }
    case Kind::query:
      append_argument_value(text, out);
      return;
    case Kind::method:
      append_method(text, out);
      return;
  }
}

void Component::append_given_header(std::string_view text, std::string& out) const {
  if (name_ == "host" && !text.empty()) {
    append_host(without_port(text), out);
  } else {
    append_header_value(name_, text, out);
  }
}

std::optional<AddressBlock> Component::block(std::string_view text) const noexcept {
  const auto block = AddressBlock::parse(text);
  if (!block) return std::nullopt;
  const unsigned prefix = std::min(block->prefix, prefix_for(block->lowest));
  return AddressBlock{block->lowest.masked(prefix), prefix};
}

void Component::add_to(FieldsUsed& fields_used) const {
  switch (kind_) {
    case Kind::address:
      return;
    case Kind::header:
    case Kind::registered_domain:
      fields_used.host |= name_ == "host";
      fields_used.request_headers.insert(name_);
      return;
    case Kind::cookie:
      fields_used.request_headers.insert("cookie");
      return;
    case Kind::query:
      fields_used.query = true;
      return;
    case Kind::host:
      fields_used.host = true;
      return;
    case Kind::path:
      fields_used.path = true;
      return;
    case Kind::method:
      fields_used.method = true;
      return;
  }
}

std::string Component::complaint(std::string_view text) const {
  if (text.empty()) return {};
  std::string part;
  append_given(text, part);
  if (part.empty()) {
    return "counts as missing; expected a value that all programs read in one way, or \"\" for "
           "requests without one";
  }
  if (is_of_host() && part == malformed_host && text != malformed_host) {
    return "is a malformed host; expected a host name or an address, or \"@\" for all malformed "
           "hosts";
  }
  if (kind_ != Kind::address || given_address(text)) return {};
  if (const auto block = AddressBlock::parse(text)) {
    return "is a block of /" + std::to_string(block->prefix) + "; expected an address, or a /" +
           std::to_string(prefix_for(block->lowest)) + " as the key counts them";
  }
  return "is not an address; expected one like 10.0.0.2 or 2001:db8::1, as the key has it";
}

unsigned Component::prefix_for(const Address& address) const noexcept {
  return address.is_v4() ? v4_prefix_ : v6_prefix_;
}

void Component::append_address(const Address& address, std::string& out) const {
  const unsigned prefix = prefix_for(address);
  char text[Address::text_max];
  out.append(text, address.masked(prefix).write(text, prefix));
}

// Returns the address of a text, or the lowest address of a block that lies within one partition.
std::optional<Address> Component::given_address(std::string_view text) const noexcept {
  const auto block = AddressBlock::parse(text);
  if (!block || !is_in_one_partition(*block)) return std::nullopt;
  return block->lowest;
}

namespace {

// Removes and returns the first of length-prefixed parts.
std::string_view take_counted(std::string_view& parts) {
  std::size_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(parts[0]);
    parts.remove_prefix(1);
    length |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  const std::string_view part = parts.substr(0, length);
  parts.remove_prefix(length);
  return part;
}

}  // namespace

void append_readable(std::string_view key_parts, std::string& out) {
  if (key_parts.empty()) return;
  const std::string_view first = take_counted(key_parts);
  if (key_parts.empty()) {
    out.append(first);
    return;
  }
  const auto append_escaped = [&out](std::string_view part) {
    for (const char c : part) {
      if (c == ',' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
  };
  append_escaped(first);
  while (!key_parts.empty()) {
    out.push_back(',');
    append_escaped(take_counted(key_parts));
  }
}

std::vector<std::string> split_readable(std::string_view text, std::size_t count) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      parts.back().push_back(text[++i]);
    } else if (text[i] == ',') {
      if (parts.size() == count) return {};
      parts.emplace_back();
    } else {
      parts.back().push_back(text[i]);
    }
  }
  if (parts.size() != count) parts.clear();
  return parts;
}

}  // namespace headgate::policy
