#include "headgate/policy/address/client_address.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

bool is_trusted(const std::optional<Address>& address, const ClientAddress& settings) noexcept {
  if (!address) return settings.trust_unix;
  return std::any_of(settings.trusted_proxies.begin(), settings.trusted_proxies.end(),
                     [&](const AddressBlock& block) { return block.contains(*address); });
}

// The last hops_max hops of a header, which are those nearest to this server, in the order of the
// header. Earlier ones are overwritten.
class Hops {
 public:
  void add(std::optional<Address> hop) noexcept { ring_[count_++ % hops_max] = hop; }

  // Returns the first hop that is not trusted, starting with the nearest. `peer` sent the header.
  [[nodiscard]] Client walk(std::optional<Address> peer,
                            const ClientAddress& settings) const noexcept {
    Client client{peer, true, {}};
    const std::size_t kept = std::min(count_, hops_max);
    for (std::size_t i = 1; i <= kept; ++i) {
      const std::optional<Address>& hop = ring_[(count_ - i) % hops_max];
      client.is_certain = hop.has_value();
      if (!hop) return client;
      client.address = hop;
      if (!is_trusted(hop, settings)) return client;
    }
    client.is_certain = kept == count_;
    return client;
  }

 private:
  std::array<std::optional<Address>, hops_max> ring_;
  std::size_t count_ = 0;
};

void read_x_forwarded_for(std::string_view line, Hops& hops) noexcept {
  while (true) {
    const std::size_t comma = line.find(',');
    const std::string_view hop = trimmed(line.substr(0, comma));
    if (!hop.empty()) hops.add(node_address(hop));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

// Reads the elements of one Forwarded line. The first element that does not follow RFC 7239,
// section 4, counts as one hop without an address, together with the rest of the line.
class ForwardedLine {
 public:
  explicit ForwardedLine(std::string_view line) noexcept : rest_(line) {}

  void read(Hops& hops) noexcept {
    while (true) {
      skip_space();
      if (!rest_.empty() && rest_[0] != ',') {
        std::optional<Address> hop;
        const bool good = element(hop);
        hops.add(good ? hop : std::nullopt);
        if (!good) return;
      }
      if (rest_.empty()) return;
      rest_.remove_prefix(1);
    }
  }

 private:
  void skip_space() noexcept {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }

  std::string_view token() noexcept {
    std::size_t length = 0;
    while (length < rest_.size() && is_token(rest_.substr(length, 1))) ++length;
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }

  // Reads the pairs up to the next ',' or the end. Returns false if they are malformed.
  bool element(std::optional<Address>& hop) noexcept {
    bool named = false;
    while (true) {
      skip_space();
      const std::string_view name = token();
      if (!name.empty()) {
        if (rest_.empty() || rest_[0] != '=') return false;
        rest_.remove_prefix(1);
        const auto value = pair_value();
        if (!value) return false;
        if (name.size() == 3 && lower(name[0]) == 'f' && lower(name[1]) == 'o' &&
            lower(name[2]) == 'r') {
          if (named) return false;  // section 4: a parameter occurs once in an element
          named = true;
          hop = node_address(*value);
        }
      }
      skip_space();
      if (rest_.empty() || rest_[0] == ',') return true;
      if (rest_[0] != ';') return false;
      rest_.remove_prefix(1);
    }
  }

  // Returns a token or the inside of a quoted-string, or std::nullopt if there is neither. Escapes
  // are not decoded: no address needs them.
  std::optional<std::string_view> pair_value() noexcept {
    if (!rest_.starts_with('"')) {
      // RFC 7239 requires quotes around ':' and brackets, but many senders leave them out.
      std::size_t length = 0;
      while (length < rest_.size() &&
             (is_token(rest_.substr(length, 1)) ||
              std::string_view("[]:").find(rest_[length]) != std::string_view::npos)) {
        ++length;
      }
      if (length == 0) return std::nullopt;
      const std::string_view found = rest_.substr(0, length);
      rest_.remove_prefix(length);
      return found;
    }
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == '"') {
        const std::string_view found = rest_.substr(1, i - 1);
        rest_.remove_prefix(i + 1);
        return found;
      }
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<Address> node_address(std::string_view node) noexcept {
  if (node.starts_with('[')) {
    const std::size_t close = node.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view port = node.substr(close + 1);
    if (!port.empty() && port[0] != ':') return std::nullopt;
    const std::string_view inner = node.substr(1, close - 1);
    if (inner.find(':') == std::string_view::npos) return std::nullopt;
    return Address::parse(inner);
  }
  const std::size_t colon = node.find(':');
  if (colon != std::string_view::npos && node.find(':', colon + 1) == std::string_view::npos) {
    node = node.substr(0, colon);
  }
  return Address::parse(node);
}

Client find_client(const Request& request, const ClientAddress& settings) noexcept {
  const Client peer{request.peer, request.peer_is_certain, request.claimed};
  if (!is_trusted(request.peer, settings)) return peer;

  std::optional<Client> found;  // by the headers that were read so far
  for (const std::string_view name :
       {std::string_view("forwarded"), std::string_view("x-forwarded-for")}) {
    Hops hops;
    std::size_t lines = 0;
    while (const auto line = request.headers->line(name, lines)) {
      ++lines;
      if (name[0] == 'f') {
        ForwardedLine(*line).read(hops);
      } else {
        read_x_forwarded_for(*line, hops);
      }
    }
    if (lines == 0) continue;
    const Client client = hops.walk(request.peer, settings);
    if (found && found->address != client.address) {
      return {request.peer, false, {found->address, client.address}};
    }
    const bool is_certain = client.is_certain && (!found || found->is_certain);
    found = {client.address, is_certain && request.peer_is_certain, {}};
  }
  return found.value_or(peer);
}

}  // namespace headgate::policy
